/**
 * What Node has loaded when a program begins, or loads in no time: the rest are tens of files each, of which a
 * configuration may need none.
 */
const LOADED: ReadonlySet<string> = new Set([
  'async_hooks',
  'buffer',
  'console',
  'diagnostics_channel',
  'events',
  'fs',
  'module',
  'os',
  'path',
  'process',
  'sea',
  'timers',
  'url',
  'util',
  'v8',
  'vm',
]);

const REQUIRED = /^var (import_\w+) = ((?:__toESM\()?require\("node:([\w/]+)"\)(?:, 1\))?\)?);$/gm;

/**
 * Has modules of Node loaded when they are first used, in a script that esbuild has made of an ES module: there
 * each is a variable, which becomes a function.
 *
 * @throws {Error} for a use of such a variable that is not a member access.
 */
export function loadBuiltinsLate(code: string): string {
  let late = code;
  for (const [line, variable = '', value = '', name = ''] of code.matchAll(REQUIRED)) {
    if (LOADED.has(name)) continue;
    const used = new RegExp(String.raw`\b${variable}\b(\.|)`, 'g');
    const declared = `var ${variable}_, ${variable} = () => ${variable}_ ??= ${value};`;
    late = late
      .split(line)
      .map((part) =>
        part.replaceAll(used, (text, dot) => {
          if (dot === '') throw new Error(`a use of ${name} is not that of a member: ${text}`);
          return `(${variable}()).`; // Parentheses for `new`.
        }),
      )
      .join(declared);
  }
  return late;
}
