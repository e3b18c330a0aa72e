;;; dap-rlctl.el --- Step through Redis Lua with rlctl -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Lets dap-mode start `rlctl debug --dap'.  rlctl must be in `exec-path'.
;;
;;   (require 'dap-rlctl)
;;
;; Visit a script, add breakpoints with M-x dap-breakpoint-toggle, and start with M-x dap-debug.  For a script with
;; arguments of its own, register a template; the section IN AN EDITOR of rlctl-debug(1) describes the attributes:
;;
;;   (dap-register-debug-template "Redis Lua: my limiter"
;;     '(:type "rlctl" :request "launch" :program "/path/limiter.lua" :keys ["ann"]
;;       :args "{now_ms} {window_ms} {limit}" :limit "5/60s" :server "private:"))

;;; Code:

(require 'dap-mode)
(require 'dap-ui) ; for dap-exception-breakpoints, which dap-mode does not define

(defun dap-rlctl--launch (conf)
  "Add to CONF how rlctl is started, and the visited file if CONF names no script."
  (unless (or (plist-get conf :program) (plist-get conf :script))
    (setq conf (plist-put conf :program (buffer-file-name))))
  (dap--put-if-absent conf :dap-server-path '("rlctl" "debug" "--dap"))
  (dap--put-if-absent conf :request "launch")
  (dap--put-if-absent conf :name "Redis Lua")
  conf)

(dap-register-debug-provider "rlctl" #'dap-rlctl--launch)

(dap-register-debug-template "Redis Lua: this file"
                             '(:type "rlctl" :request "launch" :program nil :keys ["ann"] :args []
                               :server "private:" :stopOnEntry t))

(provide 'dap-rlctl)
;;; dap-rlctl.el ends here
