-- The language server of AEL in Neovim: where it is, where a program begins, and how it is started by each version of Neovim.

local M = {}

--- What says that a folder is the root of a program, the surest first.
M.markers = { 'pack.ael', '.git' }

--- The folder that holds a marker, from the folder of `file` upwards; the folder of `file` where there is none.
function M.root(file)
  local folder = vim.fn.fnamemodify(file, ':p:h')
  for _, marker in ipairs(M.markers) do
    local path = vim.fn.escape(folder, ' \\,;') .. ';'
    local found = vim.fn.findfile(marker, path)
    if found == '' then
      found = vim.fn.finddir(marker, path)
    end
    if found ~= '' then
      return vim.fn.fnamemodify((vim.fn.fnamemodify(found, ':p'):gsub('/+$', '')), ':h')
    end
  end
  return folder
end

--- The words that start the server: `g:ael_path`, else the `.venv` of the program or above it, else `ael` on the PATH.
function M.command(root)
  if vim.g.ael_path and vim.g.ael_path ~= '' then
    return { vim.fn.expand(vim.g.ael_path), 'lsp' }
  end
  local path = vim.fn.escape(root, ' \\,;') .. ';'
  for _, place in ipairs({ '.venv/bin/ael', '.venv/Scripts/ael.exe' }) do
    local found = vim.fn.findfile(place, path)
    if found ~= '' then
      return { vim.fn.fnamemodify(found, ':p'), 'lsp' }
    end
  end
  return { 'ael', 'lsp' }
end

local clients = {}

--- Starts the server for a buffer, where Neovim does not do it by itself (before 0.11). One server for each root.
function M.attach(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  if name == '' or vim.bo[buffer].buftype ~= '' then
    return
  end
  local root = M.root(name)
  local command = M.command(root)
  if vim.fn.executable(command[1]) == 0 then
    vim.api.nvim_echo({ { ('AEL: there is no %s; install it with its language server, or set g:ael_path'):format(command[1]), 'WarningMsg' } }, true, {})
    return
  end
  local config = {
    name = 'ael',
    cmd = command,
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = root } },
  }
  if vim.lsp.start then
    return vim.lsp.start(config, { bufnr = buffer })
  end
  local id = clients[root]
  if not (id and vim.lsp.get_client_by_id(id)) then
    id = vim.lsp.start_client(config)
    clients[root] = id
  end
  if id then
    vim.lsp.buf_attach_client(buffer, id)
  end
  return id
end

return M
