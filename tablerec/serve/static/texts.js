// All that the page says, in English and Chinese. Messages of the server are English.

const STORED = "tablerec-language";
const EN = {
  language: "中文", languageHint: "Show this page in Chinese", docs: "API",
  drop: "Drop pictures and PDFs here to get their tables in one workbook",
  kinds: "PNG, JPEG, TIFF, WebP, BMP, GIF, AVIF, HEIC, and PDF. Files never leave this server.",
  choose: "Choose files", options: "Options", layout: "Each picture is", layoutPage: "a page with tables", layoutTable: "a single table",
  join: "Join tables that continue across pages", mark: "Mark doubtful cells",
  start: "Read tables", stop: "Stop", clear: "Start over", list: "Files", remove: "Remove {0}",
  chosen: "Files: {0}, {1}", sending: "Sending: {0}%", busy: "The server is busy. Retrying in {0} s",
  queued: "Waiting in the queue", reading: "Reading: {0} of {1} pages", done: "Done. Tables: {0}, files: {1}",
  between: ". ", failed: "Files or pages that could not be read: {0} (see the list)", stopped: "Stopped. Nothing was kept.",
  waiting: "waiting", pages: "{0} of {1} pages", tables: "Tables: {0}", noTable: "no table found", page: "Page {0}: {1}",
  workbook: "Workbook (XLSX)", html: "HTML", csv: "CSV", zip: "All formats (ZIP)",
  gone: "The server is not responding. Check that it is running, then try again.", size: "{0} MB", expires: "Available until {0}",
  tokenTitle: "Token required", tokenHelp: "Ask whoever runs this server for a token. It is kept until you close this tab.",
  token: "Token", tokenUse: "Continue", tokenWrong: "The server does not accept this token.", cancel: "Cancel",
};
const ZH = {
  language: "English", languageHint: "切换为英文", docs: "API",
  drop: "将图片和 PDF 拖放到这里，其中的表格会汇总到一个工作簿",
  kinds: "支持 PNG、JPEG、TIFF、WebP、BMP、GIF、AVIF、HEIC 和 PDF。文件不会离开本服务器。",
  choose: "选择文件", options: "选项", layout: "每张图片是", layoutPage: "含表格的页面", layoutTable: "单个表格",
  join: "合并跨页的表格", mark: "标记可疑的单元格",
  start: "识别表格", stop: "停止", clear: "重新开始", list: "文件", remove: "移除 {0}",
  chosen: "{0} 个文件，{1}", sending: "正在发送：{0}%", busy: "服务器繁忙，{0} 秒后重试",
  queued: "正在排队", reading: "正在识别：{0} / {1} 页", done: "已完成：{1} 个文件中共有 {0} 个表格",
  between: "。", failed: "{0} 个文件或页面无法读取（见列表）", stopped: "已停止，未保留任何内容。",
  waiting: "等待中", pages: "{0} / {1} 页", tables: "{0} 个表格", noTable: "没有找到表格", page: "第 {0} 页：{1}",
  workbook: "工作簿（XLSX）", html: "HTML", csv: "CSV", zip: "所有格式（ZIP）",
  gone: "服务器没有响应。请确认服务器正在运行，然后重试。", size: "{0} MB", expires: "可下载至 {0}",
  tokenTitle: "需要令牌", tokenHelp: "请向服务器管理员索取令牌。关闭此标签页后，令牌不再保留。",
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
