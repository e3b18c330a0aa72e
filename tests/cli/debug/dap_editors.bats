# needs: server
# night: Emacs is large, and .ci/run has VS Code's client
load ../../support/common

# Emacs holds a session with `rlctl debug --dap`, by the configuration in editors/. tests/night/run installs it.

setup() {
  cd "$BATS_TEST_TMPDIR"
  export TMPDIR=$BATS_TEST_TMPDIR HOME=$BATS_TEST_TMPDIR
  unset RLCTL_URL
  printf '%s\n' 'local limit = tonumber(ARGV[1])' "local count = redis.call('INCRBY', KEYS[1], limit)" 'return count' \
    >script.lua
}

@test "emacs: dap-mode stops at a breakpoint, shows the variables and continues to the end" {
  needs emacs-nox emacs
  needs elpa-dap-mode bash -c "compgen -G '/usr/share/emacs/site-lisp/elpa*/dap-mode-*'"
  cat >session.el <<'END'
(defvar stopped nil)
(add-hook 'dap-stopped-hook (lambda (session) (setq stopped session)))

(defun until (what test)
  (with-timeout (120 (error "It never happened: %s" what))
    (while (not (funcall test)) (accept-process-output nil 0.02))))

(defun ask (command arguments)
  (let (answer)
    (dap--send-message (dap--make-request command arguments) (lambda (it) (setq answer it)) stopped)
    (until command (lambda () answer))
    (gethash "body" answer)))

(find-file "script.lua")
(forward-line 2)
(dap-breakpoint-add)
(dap-debug (list :type "rlctl" :keys ["k"] :args ["7"] :server "private:"))
(until "a stop" (lambda () (and stopped (dap--debug-session-active-frame stopped))))
(let* ((frame (dap--debug-session-active-frame stopped))
       (scopes (gethash "scopes" (ask "scopes" (list :frameId (gethash "id" frame)))))
       (locals (list :variablesReference (gethash "variablesReference" (elt scopes 0)))))
  (message "line %s" (gethash "line" frame))
  (seq-do (lambda (it) (message "%s = %s" (gethash "name" it) (gethash "value" it)))
          (gethash "variables" (ask "variables" locals)))
  (dap-continue stopped 1)
  (until "the end" (lambda () (not (process-live-p (dap--debug-session-proc stopped)))))
  (message "%s" (with-current-buffer (dap--debug-session-output-buffer stopped) (buffer-string))))
END
  run -0 timeout 300 emacs --batch -f package-initialize -L "$project/editors/emacs" -l dap-rlctl -l session.el
  assert_line 'line 3'
  assert_line 'limit = 7'
  assert_line 'count = 7'
  assert_line '= 7'
  # dap-mode kills rlctl at the end.
  wait_until nothing_is_left
}
