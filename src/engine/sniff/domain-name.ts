/** RFC 1035 §2.3.4 in text form: 255 octets on the wire, less the first length and the root. */
const MAX_NAME = 253;

/** Letters, digits, hyphens and the underscore of service labels; at most 63 of them (RFC 1035). */
const LABEL = /^[a-zA-Z0-9_-]{1,63}$/;

/** No top-level domain is a number, while `1.2.3.4`, `127.1` and `2130706433` are addresses. */
const NUMBER = /^[0-9]+$/;

/**
 * The domain name that a client wrote, lower-cased and without the dot of the root; `undefined` for
 * IP addresses and for whatever else is not a name.
 */
export function domainName(text: string): string | undefined {
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  if (name.length > MAX_NAME) return undefined;
  const labels = name.split('.');
  if (!labels.every((label) => LABEL.test(label))) return undefined;
  return NUMBER.test(labels.at(-1) ?? '') ? undefined : name.toLowerCase();
}
