// All that the page says, in English and Chinese. Messages of the server are English.

const STORED = "tablerec-language";
const EN = {
  language: "中文", languageHint: "Show this page in Chinese", docs: "For programs",
  drop: "Drop pictures and PDFs here: their tables become one workbook",
  kinds: "PNG, JPEG, TIFF, WebP, BMP, GIF, AVIF, HEIC and PDF. Nothing leaves this server.",
  choose: "Choose files", options: "How they are read", layout: "Pictures are", layoutPage: "pages with tables", layoutTable: "one table each",
  join: "Join tables that go on over several pages", mark: "Mark doubtful cells",
  start: "Read the tables", stop: "Stop", clear: "Start over", list: "Files", remove: "Remove {0}",
  chosen: "Files: {0}, {1}", sending: "Sending: {0} %", busy: "The server is busy: trying again in {0} s",
  queued: "Waiting for its turn", reading: "Reading: {0} of {1} pages", done: "Done. Tables: {0}, files: {1}",
  failed: "Files or pages that could not be read: {0}, see the list", stopped: "Stopped: nothing is kept of it",
  waiting: "waiting", pages: "{0} of {1} pages", tables: "Tables: {0}", noTable: "no table found", page: "Page {0}: {1}",
  workbook: "Workbook (XLSX)", html: "HTML", csv: "CSV", zip: "All formats (ZIP)",
  gone: "The server does not answer: check that it runs, then try again", size: "{0} MB", expires: "Kept until {0}",
  tokenTitle: "A token is needed", tokenHelp: "Whoever runs this server has one for you. It is kept until this tab is closed.",
  token: "Token", tokenUse: "Go on", tokenWrong: "The server does not know this token.", cancel: "Cancel",
};
const ZH = {
  language: "English", languageHint: "切换为英文", docs: "程序接口",
  drop: "把图片和 PDF 拖到这里：其中的表格会写入一个工作簿",
  kinds: "支持 PNG、JPEG、TIFF、WebP、BMP、GIF、AVIF、HEIC 和 PDF。文件只在本服务器上处理。",
  choose: "选择文件", options: "识别方式", layout: "图片内容", layoutPage: "含有表格的页面", layoutTable: "每张就是一个表格",
  join: "合并跨页的表格", mark: "标出可疑的单元格",
  start: "识别表格", stop: "停止", clear: "重新开始", list: "文件", remove: "移除 {0}",
  chosen: "{0} 个文件，{1}", sending: "正在发送：{0} %", busy: "服务器繁忙，{0} 秒后重试",
  queued: "正在排队", reading: "正在识别：第 {0} 页，共 {1} 页", done: "完成：{1} 个文件中有 {0} 个表格",
  failed: "有 {0} 个文件或页面无法读取，见列表", stopped: "已停止：不保留任何内容",
  waiting: "等待中", pages: "{1} 页中的 {0} 页", tables: "{0} 个表格", noTable: "没有找到表格", page: "第 {0} 页：{1}",
  workbook: "工作簿（XLSX）", html: "HTML", csv: "CSV", zip: "所有格式（ZIP）",
  gone: "服务器没有响应：请确认它在运行，然后重试", size: "{0} MB", expires: "保留到 {0}",
  tokenTitle: "需要令牌", tokenHelp: "请向服务器管理员索取。令牌保留到关闭此标签页为止。",
  token: "令牌", tokenUse: "继续", tokenWrong: "令牌无效。", cancel: "取消",
};
const LANGUAGES = { en: { tag: "en", texts: EN }, zh: { tag: "zh-CN", texts: ZH } };

let chosen = navigator.language?.startsWith("zh") ? "zh" : "en";
try {
  chosen = LANGUAGES[localStorage.getItem(STORED)] ? localStorage.getItem(STORED) : chosen;
} catch { /* a page may be forbidden to remember */ }

export const tag = () => LANGUAGES[chosen].tag;

// Its text in the language of the page, with {0}, {1} filled in.
export const text = (key, ...values) => LANGUAGES[chosen].texts[key].replace(/\{(\d)\}/g, (_, index) => values[index]);

export function switchLanguage() {
  chosen = chosen === "en" ? "zh" : "en";
  try {
    localStorage.setItem(STORED, chosen);
  } catch { /* then it holds until the page is closed */ }
}
