;;; ael-mode.el --- Major mode for AEL, the Agent Engineering Language  -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "27.1"))
;; Keywords: languages
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Colours, indentation, imenu, comments and electric pairs, and the language server by eglot or lsp-mode.
;;
;;   (add-to-list 'load-path "/path/to/editors/emacs")
;;   (require 'ael-mode)
;;   (add-hook 'ael-mode-hook #'eglot-ensure)
;;
;; `ael' is looked for in the `.venv' of the program, then on the PATH; `ael-program' names another.
;; Emacs 29 and newer: `ael-ts-mode' (ael-ts-mode.el) colours by tree-sitter.

;;; Code:

(require 'ael-words)
(require 'compile)
(require 'prog-mode)

(defgroup ael nil
  "The Agent Engineering Language."
  :group 'languages)

(defcustom ael-indent-offset 2
  "Columns of one step of indentation; `ael fmt' uses two."
  :type 'integer
  :safe #'integerp)

(defcustom ael-program nil
  "The path of `ael'.  Nil: the `.venv' of the program, then the PATH."
  :type '(choice (const :tag "Find it" nil) file))

;;; Syntax

(defvar ael-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?/ ". 12" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\r ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "\\" table)
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?\' "." table)
    (dolist (char '(?+ ?- ?* ?% ?= ?< ?> ?| ?& ?? ?. ?, ?:))
      (modify-syntax-entry char "." table))
    table)
  "Syntax of AEL.")

(defun ael--close-block-string (end)
  "Mark the `\"\"\"' that ends the block string around point, before END."
  (let ((state (syntax-ppss)))
    (when (eq (nth 3 state) t)
      (let ((found nil))
        (while (and (not found) (re-search-forward "\\\\\\(?:.\\|\n\\)\\|\"\"\"" end 'move))
          (when (eq (char-before) ?\")
            (unless (eq (char-after (match-beginning 0)) ?\\)
              (setq found t)
              (put-text-property (1- (point)) (point) 'syntax-table (string-to-syntax "|")))))))))

(defun ael-syntax-propertize (start end)
  "Tell apart block strings and raw strings between START and END."
  (goto-char start)
  (ael--close-block-string end)
  (while (re-search-forward "\"\"\"\\|\\_<r\"\\([^\"\n]*\\)\\(?:\"\\|$\\)" end t)
    (let* ((from (match-beginning 0))
           (raw (eq (char-after from) ?r))
           (first (match-beginning 1))
           (last (match-end 1))
           (state (save-excursion (syntax-ppss from))))
      (cond
       ((or (nth 3 state) (nth 4 state))
        ;; Inside of a string or a comment: go on behind this quote.
        (goto-char (1+ from)))
       (raw
        ;; A backslash of a raw string is itself.
        (save-excursion
          (goto-char first)
          (while (re-search-forward "\\\\" last t)
            (put-text-property (1- (point)) (point) 'syntax-table (string-to-syntax ".")))))
       (t
        (put-text-property from (1+ from) 'syntax-table (string-to-syntax "|"))
        (goto-char (+ from 3))
        (ael--close-block-string end))))))

;;; Colours

(defun ael--words (&rest classes)
  "A regular expression of the words of CLASSES."
  (regexp-opt (apply #'append (mapcar (lambda (name) (symbol-value (intern (format "ael-words-%s" name)))) classes)) 'symbols))

(defun ael--followed (word after)
  "A search for WORD where AFTER follows, which is not part of the match."
  (lambda (end)
    (let ((found nil))
      (while (and (not found) (re-search-forward word end t))
        (setq found (save-match-data (looking-at-p after))))
      found)))

(defun ael--interpolation (end)
  "Search for what a string takes from the program, before END."
  (let ((found nil))
    (while (and (not found) (re-search-forward "\\${[^{}\"\n]*}" end t))
      (setq found (nth 3 (save-match-data (save-excursion (syntax-ppss (match-beginning 0)))))))
    found))

(defvar ael-font-lock-keywords
  (let ((soft (ael--words 'soft))
        (clause (ael--words 'clause)))
    `((,(concat "\\_<\\(?:fn\\|table\\|tool\\|node\\|agent\\|skill\\)[ \t]+\\([A-Za-z_][A-Za-z0-9_]*\\)") 1 font-lock-function-name-face)
      (,(concat "\\_<\\(?:record\\|enum\\|error\\|type\\|service\\)[ \t]+\\([A-Za-z_][A-Za-z0-9_]*\\)") 1 font-lock-type-face)
      ;; The name of a member or a field, also where it is a reserved word.
      ("\\.\\([a-z_][A-Za-z0-9_]*\\)" 1 'default)
      ("\\_<\\([a-z_][A-Za-z0-9_]*\\)[ \t]*\\??:" 1 font-lock-variable-name-face)
      (,(ael--words 'declaration 'statement 'operator) . font-lock-keyword-face)
      (,(ael--words 'literal) . font-lock-constant-face)
      (,(ael--words 'type) . font-lock-type-face)
      (,(ael--followed soft "[ \t]+[A-Za-z0-9_\"[.]") . font-lock-keyword-face)
      (,(ael--followed clause "[ \t]*\\(?:[A-Za-z0-9_\"$]\\|$\\)\\|[ \t]+(") . font-lock-keyword-face)
      (,(ael--followed "\\_<retry\\_>" "(") . font-lock-keyword-face)
      (,(ael--followed "\\_<otherwise\\_>" "[ \t]*=>") . font-lock-keyword-face)
      (,(ael--followed "\\_<when\\_>" "[ \t]+[-<>[]") . font-lock-keyword-face)
      (,(ael--followed (ael--words 'last) "[ \t]*\\(?:[{}]\\|//\\)") . font-lock-keyword-face)
      (,(ael--words 'known) . font-lock-builtin-face)
      ("\\_<[A-Z][A-Z0-9_]+\\_>" . font-lock-constant-face)
      ("\\_<[A-Z][A-Za-z0-9_]*" . font-lock-type-face)
      (ael--interpolation 0 font-lock-variable-name-face prepend)))
  "What `ael-mode' colours, beside strings and comments.")

(defun ael--string-or-comment-face (state)
  "The face of what STATE is inside of: doc comments are apart."
  (cond
   ((nth 3 state) font-lock-string-face)
   ((save-excursion
      (goto-char (nth 8 state))
      (looking-at-p "//\\(?:!\\|/\\(?:[^/]\\|$\\)\\)"))
    font-lock-doc-face)
   (t font-lock-comment-face)))

;;; Indentation

(defconst ael--declaration
  (concat "\\(?:\\(?:pub\\|open\\)[ \t]+\\)*"
          (regexp-opt '("use" "permission" "role" "enum" "record" "error" "type" "const" "fn" "table" "tool" "node" "agent" "skill" "service"
                        "provide" "mcp" "store" "test" "pack" "tenant" "model" "default" "allow" "edge" "command")
                      'symbols))
  "What begins a declaration.")

(defconst ael--continues
  (concat "\\(?:\\.[a-z_]\\|->\\|=>\\|[-+*/%|&]=?[ \t]\\|\\?\\?\\|[=!<>]=\\|[<>=][ \t]\\|"
          (regexp-opt '("and" "or" "in" "div" "with" "catch") 'symbols) "\\)")
  "What begins a line that continues the one before.")

(defun ael--code-line-before ()
  "Move to the last line of code before this one; nil when there is none."
  (let ((found nil))
    (while (and (not found) (zerop (forward-line -1)))
      (back-to-indentation)
      (setq found (not (or (eolp) (nth 3 (save-excursion (syntax-ppss (line-beginning-position)))) (looking-at-p "//")))))
    found))

(defconst ael--clause
  (concat "\\(?:" (regexp-opt (append '("parallel" "extern" "->") ael-words-clause) 'symbols) "\\|->\\)")
  "What begins a line of clauses.")

(defun ael--deployment-p ()
  "Whether this buffer is a deployment, where indentation means something."
  (and buffer-file-name
       (string-match-p "\\`\\(?:deploy\\|eval\\)\\(?:\\..*\\)?\\.ael\\'" (file-name-nondirectory buffer-file-name))))

(defun ael--after-operator-p ()
  "Whether the line before this one ends with what needs an operand."
  (save-excursion
    (and (ael--code-line-before)
         (looking-at-p (concat ".*\\(?:[-+*/%|=&]\\|[A-Za-z]<\\|\\?\\?\\|[=-]>\\|[=!<]=\\|[ \t][<>]\\|"
                               "\\_<\\(?:and\\|or\\|not\\|in\\|div\\|fails\\|includes\\|needs\\|grants\\|tools\\)\\_>\\)"
                               "[ \t]*\\(?://.*\\)?$")))))

(defun ael--outer-indentation ()
  "The column of a line outside of all brackets."
  (cond
   ((looking-at-p "//\\|>") 0)
   ((ael--after-operator-p) ael-indent-offset)
   ((save-excursion (and (ael--code-line-before) (looking-at-p ".*,[ \t]*\\(?://.*\\)?$")))
    (max ael-indent-offset (save-excursion (ael--code-line-before) (current-indentation))))
   ;; An option of a binding, or the next binding: only its author knows.
   ((ael--deployment-p) (if (zerop (current-indentation)) 0 ael-indent-offset))
   ((ael--model-clause-p) ael-indent-offset)
   ((looking-at-p ael--declaration) 0)
   ((looking-at-p ael--clause) ael-indent-offset)
   ((looking-at-p ael--continues) ael-indent-offset)
   (t 0)))

(defun ael--item-clause-p (opened)
  "Whether this line goes on with an item of the body that begins at OPENED."
  (let ((kind (save-excursion
                (goto-char opened)
                (back-to-indentation)
                (while (and (not (looking-at-p ael--declaration)) (ael--code-line-before)))
                (and (looking-at "\\(?:pub[ \t]+\\)?\\_<\\(service\\|mcp\\|agent\\)\\_>") (match-string 1)))))
    (and kind
         (save-excursion (and (ael--code-line-before) (> (point) opened)))
         (cond
          ((equal kind "agent") (looking-at-p "\\_<\\(?:when\\|otherwise\\|on\\|up\\)\\_>"))
          ((equal kind "service") (looking-at-p (concat "retry(\\|" ael--clause "[ \t]*\\(?:[^(: \t]\\|$\\)")))
          (t (save-excursion
               (and (looking-at-p ael--clause)
                    (ael--code-line-before)
                    (or (looking-at-p "\\_<\\(?:tool\\|resource\\|prompt\\)\\_>")
                        (looking-at-p ael--clause)))))))))

(defun ael--model-clause-p ()
  "Whether a `model' that begins this line is a clause.
A declaration that has clauses comes before it, without its body."
  (and (looking-at-p "model\\_>[ \t]+[a-z_.]+[ \t]*\\(?://.*\\)?$")
       (save-excursion
         (let ((found nil))
           (while (and (ael--code-line-before) (not (setq found (zerop (current-indentation))))))
           (and found (looking-at-p "\\(?:pub[ \t]+\\)?\\_<\\(?:tool\\|node\\|agent\\|skill\\|provide\\)\\_>"))))))

(defun ael-indentation ()
  "The column that this line should begin in.
Nil inside of a block string, which is left as it is."
  (save-excursion
    (beginning-of-line)
    (let* ((state (syntax-ppss))
           (opened (nth 1 state)))
      (back-to-indentation)
      (cond
       ((nth 3 state) nil)
       (opened
        (let* ((closes (looking-at-p "[])}]"))
               (braces (eq (char-after opened) ?{))
               (base (save-excursion
                       (goto-char opened)
                       (current-indentation))))
          (cond
           (closes base)
           ((and braces (ael--item-clause-p opened)) (+ base (* 2 ael-indent-offset)))
           ((and braces (ael--after-operator-p)) (+ base (* 2 ael-indent-offset)))
           ((and braces (looking-at-p ael--continues)
                 (not (looking-at-p "-[^>]"))
                 (save-excursion (and (ael--code-line-before) (> (point) opened))))
            (+ base (* 2 ael-indent-offset)))
           (t (+ base ael-indent-offset)))))
       (t (ael--outer-indentation))))))

(defun ael-indent-line ()
  "Indent this line."
  (interactive)
  (let ((column (ael-indentation))
        (inside (> (current-column) (current-indentation))))
    (when column
      (if inside
          (save-excursion (indent-line-to column))
        (indent-line-to column)))))

;;; The language server

(defun ael-find-program (&optional folder)
  "The path of `ael' for FOLDER (default: that of the buffer).
It is `ael-program', one in a `.venv' above, or on the PATH."
  (let* ((from (or folder default-directory))
         (place (if (eq system-type 'windows-nt) ".venv/Scripts/ael.exe" ".venv/bin/ael"))
         (above (locate-dominating-file from place)))
    (cond
     (ael-program (expand-file-name ael-program))
     (above (expand-file-name place above))
     (t "ael"))))

(defun ael-server-command (&rest _)
  "The words that start the language server."
  (list (ael-find-program) "lsp"))

(defun ael-project (folder)
  "The project of FOLDER when it is in a pack: the pack's folder."
  (let ((root (locate-dominating-file folder "pack.ael")))
    (and root (cons 'ael (expand-file-name root)))))

(with-eval-after-load 'project
  (cl-defmethod project-root ((project (head ael)))
    "The folder of the pack PROJECT."
    (cdr project)))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '((ael-mode ael-ts-mode) . ael-server-command)))

(declare-function lsp-register-client "ext:lsp-mode")
(declare-function make-lsp-client "ext:lsp-mode")
(declare-function lsp-stdio-connection "ext:lsp-mode")
(declare-function lsp-activate-on "ext:lsp-mode")
(defvar lsp-language-id-configuration)
(with-eval-after-load 'lsp-mode
  (add-to-list 'lsp-language-id-configuration '(ael-mode . "ael"))
  (add-to-list 'lsp-language-id-configuration '(ael-ts-mode . "ael"))
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection #'ael-server-command)
                    :activation-fn (lsp-activate-on "ael")
                    :server-id 'ael)))

;;; Commands

(defun ael-check ()
  "Check the program of this buffer; `next-error' visits the problems."
  (interactive)
  (let ((root (or (locate-dominating-file default-directory "pack.ael") buffer-file-name)))
    (compile (format "%s check %s" (shell-quote-argument (ael-find-program)) (shell-quote-argument (expand-file-name root))))))

(defun ael-test ()
  "Run the tests of this file, or the one that point is in."
  (interactive)
  (let* ((title (save-excursion
                  (end-of-line)
                  (and (re-search-backward "^[^ \t\n}{]" nil t)
                       (looking-at "test[ \t]+\"\\([^\"\n]*\\)\"")
                       (match-string-no-properties 1))))
         (filter (if title (format " --filter %s" (shell-quote-argument (format "^%s$" (regexp-quote title)))) "")))
    (compile (format "%s test %s%s" (shell-quote-argument (ael-find-program)) (shell-quote-argument buffer-file-name) filter))))

(defun ael-format-buffer ()
  "Format this buffer as `ael fmt' does."
  (interactive)
  (let ((made (generate-new-buffer " *ael fmt*"))
        (source (current-buffer)))
    (unwind-protect
        (let ((code (call-process-region nil nil (ael-find-program) nil (list made nil) nil "fmt" "-")))
          (if (equal code 0)
              (replace-buffer-contents made)
            (user-error "AEL: %s does not parse; it is left as it is" (buffer-name source))))
      (kill-buffer made))))

(add-to-list 'compilation-error-regexp-alist-alist
             '(ael "^\\(?:error\\|\\(warning\\)\\)\\[[A-Z]+[0-9]+\\]: .*\n +--> \\(.+?\\):\\([0-9]+\\):\\([0-9]+\\)$" 2 3 4 (1)))
(add-to-list 'compilation-error-regexp-alist 'ael)

;;; The mode

(defvar ael-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'ael-check)
    (define-key map (kbd "C-c C-t") #'ael-test)
    (define-key map (kbd "C-c C-f") #'ael-format-buffer)
    map)
  "Keys of `ael-mode'.")

(defvar ael-imenu-generic-expression
  (let ((name "[ \t]+\\([A-Za-z_][A-Za-z0-9_.]*\\)"))
    `(("Agents" ,(concat "^\\(?:pub[ \t]+\\)?agent" name) 1)
      ("Nodes" ,(concat "^\\(?:pub[ \t]+\\)?node" name) 1)
      ("Tools" ,(concat "^\\(?:pub[ \t]+\\)?tool" name) 1)
      ("Functions" ,(concat "^\\(?:pub[ \t]+\\)?\\(?:fn\\|table\\)" name) 1)
      ("Types" ,(concat "^\\(?:\\(?:pub\\|open\\)[ \t]+\\)*\\(?:record\\|enum\\|error\\|type\\)" name) 1)
      ("Services" ,(concat "^\\(?:pub[ \t]+\\)?\\(?:service\\|mcp\\|store\\|skill\\|model\\)" name) 1)
      ("Permissions" ,(concat "^\\(?:permission\\|role\\)" name) 1)
      ("Tests" "^test[ \t]+\"\\([^\"\n]*\\)\"" 1)))
  "What `imenu' lists.")

(defun ael--setup ()
  "What both modes have."
  (setq-local comment-start "// ")
  (setq-local comment-end "")
  (setq-local comment-start-skip "//[/!]?[ \t]*")
  (setq-local indent-tabs-mode nil)
  (setq-local require-final-newline t)
  (setq-local electric-indent-chars (append "{}()[]" electric-indent-chars))
  (setq-local imenu-generic-expression ael-imenu-generic-expression)
  (add-hook 'project-find-functions #'ael-project nil t))

;;;###autoload
(define-derived-mode ael-mode prog-mode "AEL"
  "Major mode for AEL, the Agent Engineering Language."
  (ael--setup)
  (setq-local syntax-propertize-function #'ael-syntax-propertize)
  (setq-local parse-sexp-lookup-properties t)
  (setq-local font-lock-defaults '(ael-font-lock-keywords nil nil nil (font-lock-syntactic-face-function . ael--string-or-comment-face)))
  (setq-local indent-line-function #'ael-indent-line))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.ael\\'" . ael-mode))

(provide 'ael-mode)
;;; ael-mode.el ends here
