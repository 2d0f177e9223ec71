/** Maximum number of characters of a `Cookie` header; a browser sends some thousand. */
const MAX_COOKIES = 8192;

/** The value of the cookie `name` in a `Cookie` header (RFC 6265 §5.4). */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  if (header === undefined || header.length > MAX_COOKIES) return undefined;
  for (const part of header.split(';')) {
    const at = part.indexOf('=');
    if (at >= 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}
