import { quoted } from '@weir/base/printable';
import type { BalancerChange } from '../nodes/difference.ts';
import type { LoweredTrust, MergedSource, Twin } from '../nodes/merge-source.ts';
import type { Trust } from '../nodes/node-values.ts';

/** Maximum number of names in a note, and of nodes in a list of notes. */
const SHOWN = 3;

/** Notes about the nodes of a source, a line each. */
export function nodeNotes(
  source: string,
  { adopted, twins, lowered }: Pick<MergedSource, 'adopted' | 'twins' | 'lowered'>,
  insecure: readonly string[],
  pinned: readonly string[],
): readonly string[] {
  return [
    ...(adopted.length === 0 ? [] : [adoptedNote(source, adopted)]),
    ...some(twins, twinNote),
    ...some(lowered, loweredNote),
    ...(insecure.length === 0 ? [] : [insecureNote(insecure)]),
    ...(pinned.length === 0 ? [] : [pinnedNote(pinned)]),
  ];
}

/** The first names of a list, quoted, and the number of further ones. */
export function named(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN).map(quoted).join(', ');
  return names.length > SHOWN ? `${shown} and ${names.length - SHOWN} more` : shown;
}

function some<T>(items: readonly T[], noteOf: (item: T) => string): readonly string[] {
  const notes = items.slice(0, SHOWN).map(noteOf);
  const more = items.length - notes.length;
  return more > 0 ? [...notes, `and ${more} more like that`] : notes;
}

/**
 * Notes about balancers whose source no longer has any of their nodes.
 * @param following those that follow a source
 */
export function lostNotes(
  source: string,
  balancers: readonly string[],
  following: ReadonlySet<string>,
): readonly string[] {
  const noteOf = (tags: readonly string[], advice: string): readonly string[] =>
    tags.length === 0
      ? []
      : [
          `none of the nodes of ${tags.length === 1 ? 'balancer' : 'the balancers'} ${named(tags)} is in ${source} any more${advice}`,
        ];
  return [
    ...noteOf(
      balancers.filter((tag) => following.has(tag)),
      ', and none that is matches its line "follows"',
    ),
    ...noteOf(
      balancers.filter((tag) => !following.has(tag)),
      `: choose others, or write "# follows: ${source}" above the [[balancer]]`,
    ),
  ];
}

/** A note about balancers that should have been updated, in a configuration that cannot be written. */
export function unwritableNote(config: string, changes: readonly BalancerChange[]): string {
  const tags = changes.map(({ tag }) => tag);
  const what = tags.length === 0 ? 'balancers follow it' : `balancer ${named(tags)} would change`;
  return `${what}, but this user may not write to the folder of ${config}: run weir subscribe update as one who may`;
}

const adoptedNote = (source: string, names: readonly string[]): string =>
  `written by weir import, and nodes of ${source} from now on: ${named(names)}`;

const twinNote = ({ name, own }: Twin): string =>
  `your own node ${quoted(own)} is the same server as ${quoted(name)} of the list: it stays as it is`;

const TRUST: Readonly<Record<Trust, string>> = {
  none: 'there is no TLS',
  any: 'any certificate is accepted (allow_insecure)',
  public: 'a certificate of a public authority is required',
  own: 'a certificate of its ca_file or of a public authority is required',
};

const loweredNote = ({ name, before, after }: LoweredTrust): string =>
  `the list has lowered TLS of ${quoted(name)}: ${TRUST[after]}; before, ${TRUST[before]}`;

const pinnedNote = (names: readonly string[]): string =>
  `the list has hashes of certificates, which Weir cannot compare: chain and name are verified, and self-signed ones refused: ${named(names)}`;

function insecureNote(names: readonly string[]): string {
  const nodes =
    names.length === 1
      ? `${named(names)} accepts`
      : `${names.length} nodes, ${named(names)}, accept`;
  return `${nodes} any certificate (allow_insecure), as the list says: anyone on the path can read the traffic`;
}
