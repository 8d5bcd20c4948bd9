;;; eglot.el --- Works on a file with the language server, as its user would  -*- lexical-binding: t; -*-

;;; Code:

(require 'package)
(package-initialize)
(require 'json)
(require 'ael-mode)
(require 'eglot)
(require 'flymake)

(defvar test-patience 60)

(defun test-wait (holds)
  "Wait until HOLDS gives something, and give that."
  (let ((end (+ (float-time) test-patience)) (found nil))
    (while (and (not (setq found (funcall holds))) (< (float-time) end))
      (accept-process-output nil 0.05))
    (or found (error "Nothing came"))))

(defun test-ask (method)
  "What the server answers to METHOD at point."
  (jsonrpc-request (eglot-current-server) method (eglot--TextDocumentPositionParams) :timeout test-patience))

(defun test-eglot ()
  "Work on the file AEL_TEST_FILE; what came goes to AEL_TEST_OUT."
  (let ((found nil) (eglot-confirm-server-initiated-edits nil))
    (find-file (getenv "AEL_TEST_FILE"))
    (push (cons 'mode (format "%s" major-mode)) found)
    (apply #'eglot (eglot--guess-contact))
    (flymake-mode 1)
    (flymake-start)
    (push (cons 'diagnostics
                (vconcat (mapcar (lambda (one)
                                   (vector (line-number-at-pos (flymake-diagnostic-beg one))
                                           (buffer-substring-no-properties (flymake-diagnostic-beg one) (flymake-diagnostic-end one))
                                           (flymake-diagnostic-text one)))
                                 (test-wait #'flymake-diagnostics))))
          found)
    (goto-char (point-min))
    (search-forward "doubel")
    (replace-match "double")
    (eglot--signal-textDocument/didChange)
    (goto-char (point-min))
    (search-forward "+ dou")
    (push (cons 'hover (plist-get (plist-get (test-ask :textDocument/hover) :contents) :value)) found)
    (eglot-rename "twice")
    (push (cons 'renamed (buffer-substring-no-properties (point-min) (point-max))) found)
    (goto-char (point-min))
    (while (re-search-forward "^  " nil t)
      (replace-match "        "))
    (eglot-format-buffer)
    (push (cons 'formatted (buffer-substring-no-properties (point-min) (point-max))) found)
    (set-buffer-modified-p nil)
    (eglot-shutdown (eglot-current-server))
    (with-temp-file (getenv "AEL_TEST_OUT")
      (insert (json-encode found)))))

;;; eglot.el ends here
