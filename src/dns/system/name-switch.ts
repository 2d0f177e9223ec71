/** A source, or an action after it, in brackets (nsswitch.conf(5)). */
const WORD = /\[[^\][]*\]|[^\s[\]]+/g;

/** Sources other than `files` and `dns` that only have names of their own kind. */
const NARROW: ReadonlySet<string> = new Set([
  'myhostname',
  'mymachines',
  'resolve',
  'mdns',
  'mdns4',
  'mdns6',
  'mdns_minimal',
  'mdns4_minimal',
  'mdns6_minimal',
]);

/** Actions that change nothing for names in `files` and `dns`. */
const USUAL_ACTION = /^\[(?:NOTFOUND|!UNAVAIL)=return\]$/i;
const BEFORE_ACTION = /^(?:resolve|mdns[46]?_minimal)$/;

/** The sources of the C library when the file or the line is missing. */
const DEFAULT: ReadonlySet<string> = new Set(['files', 'dns']);

/**
 * Returns the sources of host names in nsswitch.conf(5) when the line is a usual one: the hosts file first, then DNS,
 * with other sources only for names of their own kinds. `undefined` when the line is left to the C library.
 */
export function hostSources(text: string | undefined): ReadonlySet<string> | undefined {
  const line = text?.split('\n').find((each) => /^[ \t]*hosts:/.test(each));
  if (line === undefined) return DEFAULT;
  const words = line.slice(line.indexOf(':') + 1).replace(/#.*/s, '');
  const sources = new Set<string>();
  let last = '';
  for (const word of words.match(WORD) ?? []) {
    if (word.startsWith('[')) {
      if (!USUAL_ACTION.test(word) || !BEFORE_ACTION.test(last)) return undefined;
      continue;
    }
    if (word !== 'files' && word !== 'dns' && !NARROW.has(word)) return undefined;
    if (word === 'dns' && !sources.has('files')) return undefined;
    sources.add(word);
    last = word;
  }
  return sources.has('dns') ? sources : undefined;
}
