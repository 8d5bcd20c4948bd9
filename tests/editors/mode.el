;;; mode.el --- What the test asks of the mode  -*- lexical-binding: t; -*-

;; Reads the names of files and writes what it sees of each as JSON: the lines that indentation would move, and the faces.

;;; Code:

(require 'json)
(require 'imenu)
(require 'ael-mode)

(defun test-moved (file)
  "The lines of FILE that indenting it anew, from no indentation at all, would leave elsewhere."
  (with-temp-buffer
    (insert-file-contents file)
    (let ((wanted (split-string (buffer-string) "\n")) (moved nil) (number 0))
      (setq buffer-file-name file)
      (ael-mode)
      (goto-char (point-min))
      (while (not (eobp))
        ;; Outside of brackets the indentation of a deployment has a meaning, and is kept.
        (unless (or (nth 3 (syntax-ppss (line-beginning-position)))
                    (looking-at-p "[ \t]*$")
                    (and (ael--deployment-p) (zerop (car (syntax-ppss)))))
          (delete-horizontal-space))
        (forward-line 1))
      (let ((inhibit-message t))
        (indent-region (point-min) (point-max)))
      (setq buffer-file-name nil)
      (dolist (line (split-string (buffer-string) "\n"))
        (setq number (1+ number))
        (unless (string= line (nth (1- number) wanted))
          (push (format "%s:%d: %s" file number line) moved)))
      (vconcat (nreverse moved)))))

(defun test-faces (file)
  "Every run of one face in FILE, as pairs of text and face."
  (with-temp-buffer
    (insert-file-contents file)
    (ael-mode)
    (font-lock-ensure)
    (let ((from (point-min)) (found nil))
      (while (< from (point-max))
        (let ((to (next-single-property-change from 'face nil (point-max))) (face (get-text-property from 'face)))
          (push (vector (buffer-substring-no-properties from to) (format "%s" face)) found)
          (setq from to)))
      (vconcat (nreverse found)))))

(defun test-index (file)
  "What imenu lists of FILE."
  (with-temp-buffer
    (insert-file-contents file)
    (ael-mode)
    (vconcat (apply #'append
                    (mapcar (lambda (group) (mapcar (lambda (one) (format "%s %s" (car group) (car one))) (cdr group)))
                            (imenu--generic-function imenu-generic-expression))))))

(defun test-all ()
  "Answer for the files that are named in AEL_TEST_FILES, into AEL_TEST_OUT."
  (let ((files (split-string (getenv "AEL_TEST_FILES") "\n" t)) (all nil))
    (dolist (file files)
      (push (list (intern file) `(moved . ,(test-moved file)) `(faces . ,(test-faces file)) `(index . ,(test-index file))) all))
    (with-temp-file (getenv "AEL_TEST_OUT")
      (insert (json-encode (nreverse all))))))

;;; mode.el ends here
