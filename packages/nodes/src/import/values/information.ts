/**
 * Phrases at the beginning of entries that providers add to their lists as messages: the remaining quota, the end of
 * the subscription, the website.
 */
const INFORMATION: readonly string[] = [
  'traffic',
  'traffic left',
  'traffic used',
  'traffic remaining',
  'traffic reset',
  'total traffic',
  'used traffic',
  'remaining traffic',
  'remaining',
  'remain',
  'left',
  'used',
  'quota',
  'bandwidth',
  'data',
  'data left',
  'data usage',
  'usage',
  'total',
  'days left',
  'remaining days',
  'remaining time',
  'status',
  'renew',
  'user',
  'username',
  'expire',
  'expires',
  'expired',
  'expiry',
  'expiration',
  'expiration date',
  'expire date',
  'expiry date',
  'valid until',
  'valid till',
  'next reset',
  'reset',
  'subscription',
  'plan',
  'website',
  'official website',
  'official site',
  'homepage',
  'telegram',
  'channel',
  'contact',
  'support',
  'notice',
  'announcement',
  'update',
  'please update',
  'your subscription',
  'account',
  '剩余流量',
  '剩余时间',
  '有效期',
  '有效期至',
  '剩余',
  '流量',
  '已用流量',
  '总流量',
  '套餐',
  '套餐到期',
  '到期时间',
  '到期',
  '过期时间',
  '过期',
  '距离下次重置剩余',
  '距离下次重置',
  '重置',
  '官网',
  '官方网址',
  '网址',
  '最新网址',
  '公告',
  '通知',
  '订阅',
  '更新订阅',
  '电报',
  '群组',
  'осталось',
  'трафик',
  'истекает',
  'подписка',
  'сайт',
];

/** Names that are messages on their own. */
const COMPLETE: ReadonlySet<string> = new Set([
  'expired',
  'no nodes',
  'no servers',
  'no subscription',
  'subscription expired',
  'account expired',
  'account disabled',
  'traffic exhausted',
  'traffic exceeded',
  'quota exceeded',
  'out of traffic',
  'blocked',
  'disabled',
  'limited',
  'on_hold',
  'app not supported',
  'already expired',
  '已过期',
  '套餐已过期',
  '流量已用完',
  '流量耗尽',
]);

/** Beginnings that no name of a server has, whatever follows. */
const BEGINNINGS: readonly string[] = [
  '剩余流量',
  '套餐到期',
  '到期时间',
  '距离下次重置',
  '过滤掉',
];

const SEPARATORS = ':：=|';
const LONGEST_NAME = 200;
const UNITS: readonly string[] = ['b', 'kb', 'mb', 'gb', 'tb', 'kib', 'mib', 'gib', 'tib', '%'];

/**
 * Whether an entry of a list is a message about the subscription by its name, and not a server: `Traffic: 12 GB left`,
 * `Expires 2026-12-31`, `剩余流量：3.2GB`. A word alone is not enough, unless nothing follows it.
 */
export function isInformation(name: string): boolean {
  const text = plainText(name.slice(0, LONGEST_NAME));
  if (COMPLETE.has(text)) return true;
  if (isQuantity(text) || TIME_LEFT.test(text)) return true;
  if (BEGINNINGS.some((each) => text.startsWith(each))) return true;
  return INFORMATION.some((word) => {
    if (!text.startsWith(word)) return false;
    const rest = text.slice(word.length);
    const next = rest.trimStart();
    if (next !== '' && SEPARATORS.includes(next.charAt(0))) return true;
    // After a Latin word without a separator only a quantity or a date makes a message: "traffic jp 1" is a node.
    const isWhole = rest.startsWith(' ') || !/^[a-z]/.test(word);
    return isWhole && (isQuantity(next) || startsWithDate(next));
  });
}

/** A remaining time: `30 days left`, `12 days`. */
const TIME_LEFT = /^\d{1,5} ?(?:days?|hours?)(?: (?:left|remaining|remain))?$/;

/** A name in lower case, without surrounding emoji and brackets. */
function plainText(name: string): string {
  const text = name.normalize('NFKC').toLowerCase();
  let start = 0;
  let end = text.length;
  while (start < end && !isWordAt(text, start)) start++;
  while (end > start && !isWordAt(text, end - 1) && !'%∞'.includes(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

const isWordAt = (text: string, at: number): boolean => /[\p{L}\p{N}]/u.test(text.charAt(at));

/** Whether a text starts with a number of bytes or percent: `12 GB`, `3.5GB / 100GB`, `80%`. */
function isQuantity(text: string): boolean {
  const digits = numberLength(text);
  // Some providers number their servers with two digits: `01 GB`.
  if (digits === 0 || /^0\d/.test(text)) return false;
  const rest = text.slice(digits).trimStart();
  const unit = UNITS.findLast((each) => rest.startsWith(each));
  return unit !== undefined && BEHIND_QUANTITY.test(rest.slice(unit.length));
}

/** Text that may follow a quantity. With any other word it is the name of a server: `1 GB London`. */
const BEHIND_QUANTITY =
  /^(?:[^\p{L}\p{N}]*$|\s*[/]\s*[\d∞]|\s*[|:：=~,;()（）]|\s+-\s|\s+(?:left|remain|used|free|of|out|total|avail|per|traffic|data|until|expire)|\s*[\p{Script=Han}\p{Script=Cyrillic}])/u;

function numberLength(text: string): number {
  let at = 0;
  while (at < text.length && '0123456789.,'.includes(text.charAt(at))) at++;
  return at;
}

/** Whether a text starts with a date, such as `2026-12-31` or `2026/12/31`. */
const startsWithDate = (text: string): boolean =>
  /^(?:on |at |in )?(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,4} (?:days?|hours?))/.test(text);
