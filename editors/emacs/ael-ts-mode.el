;;; ael-ts-mode.el --- AEL by tree-sitter, for Emacs 29 and newer  -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "29.1"))
;; Keywords: languages
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The grammar is in editors/tree-sitter-ael.  Build it once:
;;
;;   cc -shared -fPIC -Isrc -o ~/.emacs.d/tree-sitter/libtree-sitter-ael.so src/parser.c src/scanner.c
;;
;; Then (require 'ael-ts-mode) and .ael files open in `ael-ts-mode'.  Indentation, commands, imenu and the language server are those of
;; `ael-mode'.

;;; Code:

(require 'ael-mode)

(declare-function treesit-font-lock-rules "treesit")
(declare-function treesit-major-mode-setup "treesit")
(declare-function treesit-node-text "treesit.c")
(declare-function treesit-node-child-by-field-name "treesit.c")
(declare-function treesit-parser-create "treesit.c")
(declare-function treesit-ready-p "treesit")
(defvar treesit-font-lock-settings)
(defvar treesit-font-lock-feature-list)
(defvar treesit-defun-type-regexp)
(defvar treesit-defun-name-function)

(defun ael-ts--any (&rest classes)
  "A query's alternatives of the words of CLASSES."
  (format "[%s]"
          (mapconcat (lambda (word) (format "%S" word))
                     (apply #'append (mapcar (lambda (name) (symbol-value (intern (format "ael-words-%s" name)))) classes))
                     " ")))

(defvar ael-ts--queries
  `((comment . "(line_comment) @font-lock-comment-face
                [(doc_comment) (module_comment)] @font-lock-doc-face")
    (string . "(string) @font-lock-string-face")
    (escape . "(escape_sequence) @font-lock-constant-face
               (interpolation) @font-lock-variable-name-face")
    (keyword . ,(concat (ael-ts--any 'declaration 'statement 'operator 'soft 'clause) " @font-lock-keyword-face"))
    (definition . "[(function_declaration name: (identifier) @font-lock-function-name-face)
                    (table_declaration name: (identifier) @font-lock-function-name-face)
                    (tool_declaration name: (identifier) @font-lock-function-name-face)
                    (node_declaration name: (identifier) @font-lock-function-name-face)
                    (agent_declaration name: (identifier) @font-lock-function-name-face)
                    (skill_declaration name: (identifier) @font-lock-function-name-face)
                    (operation name: (identifier) @font-lock-function-name-face)
                    (parameter name: (identifier) @font-lock-variable-name-face)
                    (lambda_parameter name: (identifier) @font-lock-variable-name-face)
                    (let_statement name: (identifier) @font-lock-variable-name-face)
                    (var_statement name: (identifier) @font-lock-variable-name-face)
                    (field name: (identifier) @font-lock-variable-name-face)]")
    (type . "(named_type name: (path (identifier) @font-lock-type-face))
             [(record_declaration name: (identifier) @font-lock-type-face)
              (enum_declaration name: (identifier) @font-lock-type-face)
              (error_declaration name: (identifier) @font-lock-type-face)
              (type_declaration name: (identifier) @font-lock-type-face)
              (service_declaration name: (identifier) @font-lock-type-face)]")
    (constant . "[(boolean) (null) (integer) (float) (money) (duration) (size)] @font-lock-constant-face
                 (variant name: (identifier) @font-lock-constant-face)"))
  "Feature -> the query that colours it.")

(defconst ael-ts--defun
  (concat "\\`" (regexp-opt '("function_declaration" "table_declaration" "tool_declaration" "node_declaration" "agent_declaration" "skill_declaration"
                              "record_declaration" "enum_declaration" "service_declaration" "mcp_declaration" "model_declaration"
                              "test_declaration"))
          "\\'")
  "Types of the nodes that are moved over as a whole.")

(defun ael-ts--name (node)
  "The name of the declaration NODE."
  (let ((name (treesit-node-child-by-field-name node "name")))
    (and name (treesit-node-text name t))))

;;;###autoload
(define-derived-mode ael-ts-mode ael-mode "AEL"
  "Major mode for AEL that colours by tree-sitter."
  (when (and (fboundp 'treesit-ready-p) (treesit-ready-p 'ael))
    (treesit-parser-create 'ael)
    (setq-local treesit-font-lock-settings
                (apply #'treesit-font-lock-rules
                       (apply #'append
                              (mapcar (lambda (entry)
                                        (list :language 'ael :feature (car entry) :override t (cdr entry)))
                                      ael-ts--queries))))
    (setq-local treesit-font-lock-feature-list '((comment definition) (keyword string type) (constant escape) ()))
    (setq-local treesit-defun-type-regexp ael-ts--defun)
    (setq-local treesit-defun-name-function #'ael-ts--name)
    (treesit-major-mode-setup)
    ;; The lines are indented as `ael fmt' does, which `ael-mode' knows.
    (setq-local indent-line-function #'ael-indent-line)))

(when (and (fboundp 'treesit-ready-p) (treesit-ready-p 'ael t))
  (add-to-list 'auto-mode-alist '("\\.ael\\'" . ael-ts-mode)))

(provide 'ael-ts-mode)
;;; ael-ts-mode.el ends here
