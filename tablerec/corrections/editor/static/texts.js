// All that the editor and the review say, in English and Chinese. Messages of the server are English.

export const LANGUAGE_CHANGED = "tablerec-language"; // an event of the window
const STORED = "tablerec-language";
const EN = {
  tools: "Tools", picture: "Picture", cells: "Cells of the table", keys: "Keys", close: "Close", language: "中文",
  languageHint: "Show this page in Chinese",
  undo: "↶", undoHint: "Undo (Ctrl+Z)", redo: "↷", redoHint: "Redo (Ctrl+Y)",
  restore: "As found", restoreHint: "Back to the table as it was found; redo brings your steps again",
  rowLine: "Row line", rowLineHint: "Draw a line through a row (Alt+R)",
  colLine: "Column line", colLineHint: "Draw a line through a column (Alt+C)",
  oneBorder: "One border", oneBorderHint: "Move one border only, not the whole line (Alt+B)",
  joinRows: "Join rows", joinRowsHint: "Take out the line below (Alt+J)",
  joinCols: "Join columns", joinColsHint: "Take out the line to the right (Alt+Shift+J)",
  merge: "Merge", mergeHint: "Merge the selected cells (Alt+M)", split: "Split", splitHint: "Split a merged cell (Alt+S)",
  top: "＋↑", topHint: "Add a row above the table", bottom: "＋↓", bottomHint: "Add a row below the table (Alt+A)",
  left: "＋←", leftHint: "Add a column left of the table", right: "＋→", rightHint: "Add a column right of the table (Alt+Shift+A)",
  dropRows: "Delete row", dropRowsHint: "Delete the selected rows (Alt+X)",
  dropCols: "Delete column", dropColsHint: "Delete the selected columns (Alt+Shift+X)",
  headerRows: "Header rows", headerRowsHint: "Rows down to here are headers; again: none (Alt+H)",
  headerCols: "Row names", headerColsHint: "Columns up to here name their rows; again: none (Alt+Shift+H)",
  section: "Section", sectionHint: "The cell heads a section (Alt+G)",
  doubt: "Next doubt", doubtHint: "Go to the next doubtful cell (Alt+D)", find: "Find", findHint: "Find a text (Alt+F): Enter goes on",
  out: "−", outHint: "Smaller (Alt+−)", fit: "⤢", fitHint: "Whole picture (Alt+0)", in: "+", inHint: "Larger (Alt++)",
  help: "?", helpHint: "Keys (F1)",
  frame: "Missed table", frameHint: "Frame a table of this page that was missed (Alt+T)",
  reject: "No table", rejectHint: "This is no table: nothing is saved of it (Alt+N)",
  save: "Save", saved: "Saved", saveHint: "Save workbook, page and label (Ctrl+S)",
  saveNext: "Save, next", saveNextHint: "Save and go to the next open table (Ctrl+Enter)",
  saidSaved: "Saved: workbook, page and label.", saidRejected: "Marked as no table: nothing is saved of it.",
  saidNoLabel: "Saved: workbook and page, but no label, as nothing can be learnt from it:",
  drawRow: "Click where the line belongs, with Shift through one cell; Enter: middle of the row; Esc ends.",
  drawCol: "Click where the line belongs, with Shift through one cell; Enter: middle of the column; Esc ends.",
  noCells: "The table has no cells.", notFound: "No cell has this text.",
  nothingFound: "No table was found on this page: frame it (Alt+T), or draw its lines (Alt+R, Alt+C).",
  place: "{0} × {1} · row {2}, column {3}", covers: "covers {0} × {1}",
  sure: "sure {0}", read: "read {0}", found: "found {0}", doubtful: "doubtful: {0}", textOf: "Text of row {0}, column {1}",
  otherSide: "Alt+arrows move the upper and left line",
  kind_column: "column header", kind_row: "row name", kind_section: "section",
  tables: "Tables, the most doubtful first", problems: "Problems", waiting: "Reading the pictures", none: "No table was found",
  reading: "reading: {0} of {1} files", done: "{0} of {1} tables done", allDone: "all {0} tables are done: workbooks in {1}/tables",
  onlyOpen: "Open ones only", progress: "Tables done", page: "{0}, page {1}", noneFound: "{0}: none found", changed: "{0} × {1}, changed", size: "{0} × {1}",
  rejected: "no table", sureness: "Probability that the table is right as it was found",
  asItIsNow: "As it is now:", workbook: "Workbook", html: "HTML",
  gone: "tablerec review no longer answers: start it again and reload. All steps so far are kept.",
  work: "All tables", addFiles: "Add files", addFilesHint: "Read more pictures or PDFs; you can also drop them into the page",
  dropHere: "Drop pictures or PDFs here", dropSending: "Sending {0} …", dropTaken: "{0} is on the list and will be read.",
  dropLarge: "{0}: larger than {1} MB; split it, or put it into the folder.",
  outputs: "Take along", outputsHint: "All tables as one workbook, ZIP, JSON or CSV",
  outputSaved: "Saved tables ({0})", outputAll: "All tables ({0})", outputKind: "As", outputCrops: "Cells lead to their pictures",
  output_xlsx: "Workbook with contents (xlsx)", output_zip: "ZIP of everything: workbook, HTML, CSV, JSON, labels",
  output_json: "JSON", output_csv: "CSV of each table (ZIP)",
  outputMake: "Make the file", outputMaking: "Writing …", outputMade: "{0} tables in {1}, {2} KB.", outputFetch: "Download {0}", outputOpen: "Open folder",
  frameTitle: "Frame the table that was missed", framePage: "The page with the frame",
  frameHelp: "Drag a frame around the table. By keyboard: arrows move it, Shift + arrows change its size, with Ctrl in large steps.",
  frameRows: "Rows", frameCols: "Columns", frameEven: "Both empty: as they are found. Else even ones.",
  frameAdd: "Add the table", frameReading: "Reading the part in the frame …", cancel: "Cancel", frameNow: "Frame: {0}, {1} to {2}, {3}",
};
const ZH = {
  tools: "工具", picture: "图片", cells: "表格的单元格", keys: "按键", close: "关闭", language: "English",
  languageHint: "切换为英文",
  undo: "↶", undoHint: "撤销（Ctrl+Z）", redo: "↷", redoHint: "重做（Ctrl+Y）",
  restore: "恢复原样", restoreHint: "回到识别时的表格；重做可找回您的修改",
  rowLine: "画行线", rowLineHint: "在一行中画一条线（Alt+R）",
  colLine: "画列线", colLineHint: "在一列中画一条线（Alt+C）",
  oneBorder: "单边移动", oneBorderHint: "只移动一段边线，不移动整条线（Alt+B）",
  joinRows: "合并行", joinRowsHint: "去掉下面的线（Alt+J）",
  joinCols: "合并列", joinColsHint: "去掉右边的线（Alt+Shift+J）",
  merge: "合并单元格", mergeHint: "合并选中的单元格（Alt+M）", split: "拆分", splitHint: "拆分合并的单元格（Alt+S）",
  top: "＋↑", topHint: "在表格上方加一行", bottom: "＋↓", bottomHint: "在表格下方加一行（Alt+A）",
  left: "＋←", leftHint: "在表格左侧加一列", right: "＋→", rightHint: "在表格右侧加一列（Alt+Shift+A）",
  dropRows: "删除行", dropRowsHint: "删除选中的行（Alt+X）",
  dropCols: "删除列", dropColsHint: "删除选中的列（Alt+Shift+X）",
  headerRows: "表头行", headerRowsHint: "到这里为止的行是表头；再按一次取消（Alt+H）",
  headerCols: "行名列", headerColsHint: "到这里为止的列是行名；再按一次取消（Alt+Shift+H）",
  section: "分节", sectionHint: "该单元格是一节的标题（Alt+G）",
  doubt: "下一处可疑", doubtHint: "到下一个可疑的单元格（Alt+D）", find: "查找", findHint: "查找文字（Alt+F）：按 Enter 继续",
  out: "−", outHint: "缩小（Alt+−）", fit: "⤢", fitHint: "整张图片（Alt+0）", in: "+", inHint: "放大（Alt++）",
  help: "?", helpHint: "按键（F1）",
  frame: "漏掉的表格", frameHint: "框出本页漏掉的表格（Alt+T）",
  reject: "不是表格", rejectHint: "这不是表格：不保存任何内容（Alt+N）",
  save: "保存", saved: "已保存", saveHint: "保存工作簿、网页和标注（Ctrl+S）",
  saveNext: "保存并继续", saveNextHint: "保存并打开下一个未完成的表格（Ctrl+Enter）",
  saidSaved: "已保存：工作簿、网页和标注。", saidRejected: "已标为不是表格：不保存任何内容。",
  saidNoLabel: "已保存工作簿和网页，但没有标注，因为无法用于训练：",
  drawRow: "点击要画线的位置，按住 Shift 只穿过一个单元格；Enter：画在行的中间；Esc 结束。",
  drawCol: "点击要画线的位置，按住 Shift 只穿过一个单元格；Enter：画在列的中间；Esc 结束。",
  noCells: "表格没有单元格。", notFound: "没有单元格含有这段文字。",
  nothingFound: "本页没有找到表格：请框出表格（Alt+T），或画出表格线（Alt+R、Alt+C）。",
  place: "{0} × {1} · 第 {2} 行，第 {3} 列", covers: "占 {0} × {1}",
  sure: "把握 {0}", read: "识读 {0}", found: "检出 {0}", doubtful: "可疑：{0}", textOf: "第 {0} 行第 {1} 列的文字",
  otherSide: "Alt+方向键移动上边和左边的线",
  kind_column: "列标题", kind_row: "行名", kind_section: "分节",
  tables: "表格，最可疑的在最前", problems: "问题", waiting: "正在识别图片", none: "没有找到表格",
  reading: "正在识别：{1} 个文件中的第 {0} 个", done: "已完成 {0} / {1} 个表格", allDone: "全部 {0} 个表格已完成：工作簿在 {1}/tables",
  onlyOpen: "只看未完成的", progress: "已完成的表格", page: "{0}，第 {1} 页", noneFound: "{0}：没有找到", changed: "{0} × {1}，已修改", size: "{0} × {1}",
  rejected: "不是表格", sureness: "识别出的表格正确的概率",
  asItIsNow: "当前内容：", workbook: "工作簿", html: "网页",
  gone: "tablerec review 没有响应：请重新启动并刷新。到此为止的修改都已保留。",
  work: "所有表格", addFiles: "添加文件", addFilesHint: "识别更多图片或 PDF；也可以拖放到页面中",
  dropHere: "把图片或 PDF 拖放到这里", dropSending: "正在发送 {0}……", dropTaken: "{0} 已加入列表，即将识别。",
  dropLarge: "{0}：超过 {1} MB；请拆分，或放入文件夹。",
  outputs: "导出", outputsHint: "把所有表格导出为一个工作簿、ZIP、JSON 或 CSV",
  outputSaved: "已保存的表格（{0}）", outputAll: "所有表格（{0}）", outputKind: "格式", outputCrops: "单元格链接到它的图片",
  output_xlsx: "带目录的工作簿（xlsx）", output_zip: "全部内容的 ZIP：工作簿、HTML、CSV、JSON、标注",
  output_json: "JSON 文件", output_csv: "每个表格的 CSV（ZIP）",
  outputMake: "生成文件", outputMaking: "正在写入……", outputMade: "{1} 中有 {0} 个表格，{2} KB。", outputFetch: "下载 {0}", outputOpen: "打开文件夹",
  frameTitle: "框出漏掉的表格", framePage: "带框的页面",
  frameHelp: "用鼠标在表格周围拖出一个框。键盘：方向键移动，Shift+方向键改变大小，加 Ctrl 用大步。",
  frameRows: "行数", frameCols: "列数", frameEven: "都不填：按识别结果；否则均匀划分。",
  frameAdd: "添加表格", frameReading: "正在识别框内的部分……", cancel: "取消", frameNow: "框：{0}, {1} 到 {2}, {3}",
};
// Keys, what they do, and whether that is in the review alone.
const EN_KEYS = [
  ["Arrows, Home, End", "go to a cell"], ["Shift + arrows", "select several cells"],
  ["Enter or F2", "edit the text; Enter keeps it and goes down, Tab to the right, Shift+Enter starts a line, Esc leaves it"],
  ["Any character", "a new text that begins so"], ["Delete", "empty the selected cells"],
  ["Ctrl + C, Ctrl + V", "copy the selected cells, write a block copied from a spreadsheet from here on"],
  ["Alt + arrows", "move the lower or right line of the cell by a pixel; with Shift by ten"],
  ["Alt + O", "let Alt + arrows move the upper and left line instead"],
  ["Alt + B", "move one border only, not the whole line (Shift while dragging)"],
  ["Alt + R, C", "a line through the row, the column; with Shift through this cell only"],
  ["Alt + J, Alt + Shift + J", "take out the line below, the line to the right; of several selected rows all lines between"],
  ["Alt + M, S", "merge the selected cells, split a merged cell"],
  ["Alt + A, Alt + Shift + A", "add a row below, a column at the right"],
  ["Alt + X, Alt + Shift + X", "delete the selected rows, columns with their texts"],
  ["Alt + H, Alt + Shift + H", "header rows down to here, columns of row names up to here; again: none"],
  ["Alt + G", "heading of a section"], ["Alt + D, Alt + Shift + D", "next, previous doubtful cell"], ["Alt + F", "find a text"],
  ["Ctrl + Z, Ctrl + Y", "undo, redo"], ["Ctrl + S", "save workbook, page and label"], ["Alt + N", "this is no table"],
  ["Ctrl + Enter", "save and go to the next open table", true],
  ["Alt + PageDown, PageUp", "next, previous table of the list", true], ["Alt + T", "frame a table of this page that was missed", true],
  ["Alt + plus, minus, 0", "larger, smaller, whole picture"], ["Space + drag", "move the picture (or drag beside the table)"], ["F1", "this list"],
];
const ZH_KEYS = [
  ["方向键、Home、End", "移动到单元格"], ["Shift + 方向键", "选择多个单元格"],
  ["Enter 或 F2", "编辑文字；Enter 保留并下移，Tab 右移，Shift+Enter 换行，Esc 放弃"],
  ["任意字符", "以此开头输入新的文字（输入法请先按 Enter）"], ["Delete", "清空选中的单元格"],
  ["Ctrl + C、Ctrl + V", "复制选中的单元格，从这里起粘贴电子表格中的一块"],
  ["Alt + 方向键", "把单元格下边或右边的线移动一个像素；加 Shift 移动十个"],
  ["Alt + O", "让 Alt + 方向键改为移动上边和左边的线"],
  ["Alt + B", "只移动一段边线，不移动整条线（拖动时按住 Shift）"],
  ["Alt + R、C", "在行、列中画线；加 Shift 只穿过这个单元格"],
  ["Alt + J、Alt + Shift + J", "去掉下面的线、右边的线；选中多行时去掉中间所有的线"],
  ["Alt + M、S", "合并选中的单元格，拆分合并的单元格"],
  ["Alt + A、Alt + Shift + A", "在下方加一行，在右侧加一列"],
  ["Alt + X、Alt + Shift + X", "删除选中的行、列及其文字"],
  ["Alt + H、Alt + Shift + H", "到这里为止是表头行、行名列；再按一次取消"],
  ["Alt + G", "一节的标题"], ["Alt + D、Alt + Shift + D", "下一个、上一个可疑的单元格"], ["Alt + F", "查找文字"],
  ["Ctrl + Z、Ctrl + Y", "撤销、重做"], ["Ctrl + S", "保存工作簿、网页和标注"], ["Alt + N", "这不是表格"],
  ["Ctrl + Enter", "保存并打开下一个未完成的表格", true],
  ["Alt + PageDown、PageUp", "列表中的下一个、上一个表格", true], ["Alt + T", "框出本页漏掉的表格", true],
  ["Alt + 加号、减号、0", "放大、缩小、整张图片"], ["空格 + 拖动", "移动图片（或在表格旁边拖动）"], ["F1", "本列表"],
];

export const LANGUAGES = { en: { tag: "en", texts: EN, keys: EN_KEYS }, zh: { tag: "zh-CN", texts: ZH, keys: ZH_KEYS } };

let chosen = navigator.language?.startsWith("zh") ? "zh" : "en";
try {
  chosen = LANGUAGES[localStorage.getItem(STORED)] ? localStorage.getItem(STORED) : chosen;
} catch { /* a page may be forbidden to remember */ }

export const language = () => LANGUAGES[chosen];

// Its text in the language of the page, with {0}, {1} … filled in.
export const text = (key, ...values) => LANGUAGES[chosen].texts[key].replace(/\{(\d)\}/g, (_, index) => values[index]);

// Change to the other language, and tell everything on the page.
export function switchLanguage() {
  chosen = chosen === "en" ? "zh" : "en";
  try {
    localStorage.setItem(STORED, chosen);
  } catch { /* then it holds until the page is closed */ }
  window.dispatchEvent(new Event(LANGUAGE_CHANGED));
}
