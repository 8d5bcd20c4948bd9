-- For `vim.lsp.enable('ael')`, Neovim 0.11 and newer.

return {
  cmd = function(dispatchers, config)
    local ael = require('ael')
    local root = config and config.root_dir or ael.root(vim.api.nvim_buf_get_name(0))
    return vim.lsp.rpc.start(ael.command(root), dispatchers, { cwd = root })
  end,
  filetypes = { 'ael' },
  root_markers = { 'pack.ael', '.git' },
}
