" Tells the plugins that bring the Language Server Protocol to Vim of `ael lsp`. Neovim has its own client: see ael.lua beside this.
if exists('g:ael_registered') || (has('nvim') && get(g:, 'ael_lsp', v:true))
  finish
endif
let g:ael_registered = 1

function! AelCommand() abort
  let l:place = get(g:, 'ael_path', '')
  if l:place !=# ''
    return [expand(l:place), 'lsp']
  endif
  let l:found = findfile('.venv/bin/ael', escape(expand('%:p:h'), ' \,;') . ';')
  return [l:found !=# '' ? fnamemodify(l:found, ':p') : 'ael', 'lsp']
endfunction

function! s:vim_lsp() abort
  call lsp#register_server({
        \ 'name': 'ael',
        \ 'cmd': {server_info -> AelCommand()},
        \ 'allowlist': ['ael'],
        \ 'root_uri': {server_info -> lsp#utils#path_to_uri(lsp#utils#find_nearest_parent_file_directory(lsp#utils#get_buffer_path(), ['pack.ael', '.git/']))},
        \ })
endfunction

function! s:lsp() abort
  let l:command = AelCommand()
  call LspAddServer([{'name': 'ael', 'filetype': ['ael'], 'path': l:command[0], 'args': l:command[1:], 'rootSearch': ['pack.ael', '.git/']}])
endfunction

augroup ael_lsp
  autocmd!
  " github: prabirshrestha/vim-lsp
  autocmd User lsp_setup call s:vim_lsp()
  " github: yegappan/lsp
  autocmd User LspSetup call s:lsp()
augroup END
