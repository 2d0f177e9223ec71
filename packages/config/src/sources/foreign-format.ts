/** A format of other programs, guessed from the text. */
export type ForeignFormat = 'json' | 'yaml' | 'links' | 'wireguard';

const NAMES: Readonly<Record<ForeignFormat, string>> = {
  json: 'JSON, which sing-box and Xray are configured in',
  yaml: 'YAML, which Clash is configured in',
  links: 'share links, one a line',
  wireguard: 'a configuration of WireGuard',
};

/** Characters at the start of a file that suffice to recognise its format. */
const BEGINNING = 64 * 1024;

const LINK = /^(?:vless|vmess|trojan|ss|ssr|hysteria2?|hy2|tuic|anytls|wireguard|socks5?):\/\//i;
const BASE64 = /^[\w+/-]{16,}={0,2}$/;
const WIREGUARD = /^\[(?:Interface|Peer)\]$/;
const YAML_KEY = /^(?:- )?[\w-]+:(?: |$)/;

/**
 * Returns the likely format of a text that is not valid TOML; `undefined` if unknown, above all for TOML
 * with a mistake.
 */
export function foreignFormat(text: string): ForeignFormat | undefined {
  const lines = text
    .slice(0, BEGINNING)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '' && !/^(?:#|\/\/|;)/.test(line.trimStart()));
  const [first = ''] = lines;
  const start = first.trimStart();
  if (LINK.test(start)) return 'links';
  if (/^(?:\{|\[$|\[\s*\{)/.test(start)) return 'json';
  if (start.startsWith('/*')) return text.includes('{') ? 'json' : undefined;
  if (WIREGUARD.test(start)) return 'wireguard';
  if (start === '---' || (YAML_KEY.test(start) && !lines.some(isToml))) return 'yaml';
  if (BASE64.test(start) && LINK.test(Buffer.from(start, 'base64').toString('latin1')))
    return 'links';
  return undefined;
}

function isToml(line: string): boolean {
  const equals = line.indexOf('=');
  const key = line.slice(0, Math.max(0, equals)).trim();
  return line.trimStart().startsWith('[') || /^[\w.-]+$/.test(key);
}

/**
 * Returns a hint that names the likely format of a file.
 * @param importable the formats that `weir import` reads; none if there is no such command.
 */
export function foreignFormatHint(
  format: ForeignFormat,
  file: string | undefined,
  importable: readonly ForeignFormat[],
): string {
  const what = `this looks like ${NAMES[format]}; Weir reads TOML`;
  if (file === undefined || !importable.includes(format)) return what;
  return `${what}. \`weir import ${file}\` makes a configuration of it`;
}
