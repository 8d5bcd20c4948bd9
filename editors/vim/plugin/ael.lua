-- Starts the language server for AEL files in Neovim. `vim.g.ael_lsp = false` before this leaves that to you.

if vim.g.ael_loaded or vim.g.ael_lsp == false or vim.g.ael_lsp == 0 then
  return
end
vim.g.ael_loaded = true

if vim.lsp.enable and vim.lsp.config then
  vim.lsp.enable('ael')
else
  vim.api.nvim_create_autocmd('FileType', {
    pattern = 'ael',
    group = vim.api.nvim_create_augroup('ael', {}),
    callback = function(event)
      require('ael').attach(event.buf)
    end,
  })
end
