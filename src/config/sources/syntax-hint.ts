import type { Span } from '../../schema/node.ts';

const PROSE_QUOTE = /[“”„‟«»‹›‘’‚`´]/;
const TRUTH = /^(?:true|false|yes|no|on|off)\b/i;
/** A key, the text between it and its value, and the value. */
const PAIR = /^[\w."'-]+\s*([:=]?)(.*)/s;

/**
 * Returns a hint for the most common syntax errors, from the line of the error; no hint quotes its text, which may
 * be a secret.
 * @param error of the parser, with the place at which it failed
 */
export function syntaxHint(
  text: string,
  { message, span: { start } }: { readonly message: string; readonly span: Span },
): string | undefined {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const newline = text.indexOf('\n', start);
  const line = text.slice(lineStart, newline < 0 ? text.length : newline).trim();
  if (line.startsWith('> ')) {
    return 'npm has written this line: `npm -s start -- …` leaves it out';
  }
  if (PROSE_QUOTE.test(line)) {
    return 'these are quotes of prose (“ ” ‘ ’), as an editor or a web page makes them: TOML has " and \'';
  }
  if (line.startsWith('//') || line.startsWith('/*') || line.startsWith(';')) {
    return 'a comment begins with #';
  }
  if (message.includes('expected comma')) {
    return 'a comma is missing between two values, or the ] or } behind the last';
  }
  const [, sign, rest = ''] = PAIR.exec(line) ?? [];
  if (sign === ':') return 'TOML has an equals sign between key and value: key = "value"';
  const value = rest.trim();
  if (sign === '=' && value === '') return 'the value is missing';
  if (sign === '' && value !== '') return 'an equals sign is missing: key = "value"';
  if (sign === '=' && /^["']/.test(value)) return quoteHint(value);
  if (sign === '=' && TRUTH.test(value)) return 'write true or false, in small letters';
  if (sign === '=' && /^[a-z]/i.test(value)) return 'a text has quotes around it: key = "value"';
  return undefined;
}

/**
 * Returns the hint for a value with wrong quotes.
 * @param value begins with a quote
 */
function quoteHint(value: string): string | undefined {
  const quote = value.charAt(0);
  if (!value.includes(quote, 1)) return `the closing ${quote} is missing`;
  if (quote === '"' && value.includes('\\')) {
    return 'a backslash in double quotes is written twice, or the text in single quotes';
  }
  return /[,;]$/.test(value) ? 'nothing follows a value, not even a comma' : undefined;
}
