" Editing AEL: comments, two blanks of indentation, and `ael check` as the compiler of :make.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=//\ %s
setlocal comments=:///,://!,://
setlocal expandtab shiftwidth=2 softtabstop=2
setlocal suffixesadd=.ael
setlocal makeprg=ael\ check\ --format\ github\ %:S
setlocal errorformat=::%trror\ file=%f\\,line=%l\\,col=%c\\,%*[^:]::%m,::%tarning\ file=%f\\,line=%l\\,col=%c\\,%*[^:]::%m

let b:undo_ftplugin = 'setlocal commentstring< comments< expandtab< shiftwidth< softtabstop< suffixesadd< makeprg< errorformat<'
