-- Works on the open file as its user would, and writes what came back as JSON to the file that AEL_TEST_OUT names.

local out, patience = {}, 30000
local buffer = vim.api.nvim_get_current_buf()

local function ask(method, params)
  local client = vim.lsp.get_active_clients()[1]
  assert(client.supports_method(method), 'the server does not offer ' .. method)
  local answers = vim.lsp.buf_request_sync(buffer, method, params, patience) or {}
  local _, answer = next(answers)
  if answer and answer.err then
    return { err = answer.err.message }
  end
  return answer and answer.result
end

local function at(text, occurrence)
  local row, column = 0, 0
  for _ = 1, occurrence or 1 do
    vim.api.nvim_win_set_cursor(0, { row == 0 and 1 or row, column })
    row, column = unpack(vim.fn.searchpos('\\V' .. text, row == 0 and 'cW' or 'W'))
    vim.api.nvim_win_set_cursor(0, { row, column - 1 })
  end
  return vim.lsp.util.make_position_params()
end

local function wait(holds)
  assert(vim.wait(patience, holds, 20), 'nothing came')
end

local function main()
  out.filetype = vim.bo.filetype
  out.syntax = vim.fn.synIDattr(vim.fn.synID(1, 1, 1), 'name')
  wait(function() return #vim.diagnostic.get(buffer) > 0 end)
  out.diagnostics = vim.tbl_map(function(one)
    return { one.lnum, one.col, one.end_col, one.code, one.message }
  end, vim.diagnostic.get(buffer))

  -- Typing the right name takes the problem away.
  vim.cmd([[%s/doubel/double/]])
  wait(function() return #vim.diagnostic.get(buffer) == 0 end)

  local hover = ask('textDocument/hover', at('double', 2))
  out.hover = hover and (hover.contents.value or hover.contents)
  local definition = ask('textDocument/definition', at('double', 2))
  definition = definition and (definition[1] or definition)
  out.definition = definition and (definition.range or definition.targetSelectionRange).start
  local completion = ask('textDocument/completion', at('count)', 1))
  out.completion = vim.tbl_map(function(one) return one.label end, completion and (completion.items or completion) or {})

  local rename = at('double', 2)
  rename.newName = 'twice'
  local edit = ask('textDocument/rename', rename)
  if edit and not edit.err then
    vim.lsp.util.apply_workspace_edit(edit, 'utf-16')
  end
  out.renamed = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)

  local symbols = ask('textDocument/documentSymbol', { textDocument = vim.lsp.util.make_text_document_params() })
  out.symbols = vim.tbl_map(function(one) return one.name end, symbols or {})

  vim.cmd([[%s/\v^  "/      "/]])
  if vim.lsp.buf.format then
    vim.lsp.buf.format({ timeout_ms = patience })
  else
    vim.lsp.buf.formatting_sync({}, patience)
  end
  out.formatted = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  wait(function() return #vim.diagnostic.get(buffer) == 0 end)
  out.clients = #vim.lsp.get_active_clients()
end

local fine, problem = pcall(main)
out.problem = not fine and tostring(problem) or nil
vim.fn.writefile({ vim.fn.json_encode(out) }, vim.env.AEL_TEST_OUT)
vim.lsp.stop_client(vim.lsp.get_active_clients())
vim.cmd('qall!')
