autocmd BufNewFile,BufRead *.ael setfiletype ael
