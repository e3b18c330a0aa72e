# needs: server
load ../../support/common

# Editors hold a session with `rlctl debug --dap`, by the configuration in editors/. tests/all installs them; without
# them, these tests are skipped.

setup() {
  cd "$BATS_TEST_TMPDIR"
  export TMPDIR=$BATS_TEST_TMPDIR HOME=$BATS_TEST_TMPDIR
  unset RLCTL_URL
  printf '%s\n' 'local limit = tonumber(ARGV[1])' "local count = redis.call('INCRBY', KEYS[1], limit)" 'return count' \
    >script.lua
}

@test "emacs: dap-mode stops at a breakpoint, shows the variables and continues to the end" {
  command -v emacs >/dev/null || skip 'emacs is not installed'
  compgen -G '/usr/share/emacs/site-lisp/elpa*/dap-mode-*' >/dev/null || skip 'elpa-dap-mode is not installed'
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

@test "nvim: nvim-dap stops at a breakpoint, shows the variables and continues to the end" {
  command -v nvim >/dev/null || skip 'nvim is not installed'
  [[ -e ${RLCTL_TEST_NVIM_DAP-}/lua/dap.lua ]] || skip 'RLCTL_TEST_NVIM_DAP names no folder with nvim-dap, which no package has'
  cat >session.lua <<'END'
local dap = require('dap')
local stopped, ended
local output = ''
dap.listeners.after.event_stopped.test = function(session) stopped = session end
dap.listeners.after.event_terminated.test = function() ended = true end
dap.listeners.after.event_output.test = function(_, body) output = output .. body.output end

local function wait(what, test)
  if not vim.wait(120000, test, 20) then
    io.stderr:write('it never happened: ' .. what)
    vim.cmd('cquit')
  end
end

vim.cmd('edit script.lua')
vim.api.nvim_win_set_cursor(0, {3, 0})
dap.set_breakpoint()
dap.run(vim.tbl_extend('force', dap.configurations.lua[1], {args = {'7'}}))
wait('a stop', function()
  local frame = stopped and stopped.current_frame
  return frame and frame.scopes and frame.scopes[1].variables
end)
print('line ' .. stopped.current_frame.line)
for _, one in pairs(stopped.current_frame.scopes[1].variables) do print(one.name .. ' = ' .. one.value) end
dap.continue()
wait('the end', function() return ended end)
print(output)
vim.cmd('qall!')
END
  run -0 timeout 300 nvim --headless -u NONE --cmd "set runtimepath^=$RLCTL_TEST_NVIM_DAP" \
    -c "luafile $project/editors/nvim/rlctl.lua" -c 'luafile session.lua'
  output=${output//$'\r'/}
  mapfile -t lines <<<"$output"
  assert_line 'line 3'
  assert_line 'limit = 7'
  assert_line 'count = 7'
  assert_line '= 7'
  wait_until nothing_is_left
}
