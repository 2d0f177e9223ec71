import { quoted } from '../printable.ts';
import { ImportError } from '../protocols/forms/draft.ts';
import type { ForeignObject } from '../protocols/forms/foreign-object.ts';
import { noteOn, verdictOn, type KeyTable } from './verdicts.ts';

/**
 * Notes on the keys of a rule that are not carried over. A condition that Weir lacks, or a key that could be one, makes
 * the rule unusable: without it the rule would match more flows.
 * @throws {ImportError} for such a key
 */
export function notesOnRule(fields: ForeignObject, verdicts: KeyTable): readonly string[] {
  const notes: string[] = [];
  for (const { path, value } of fields.unread()) {
    if (isAbsent(value)) continue;
    const verdict = verdictOn(path, verdicts);
    if (verdict === undefined) {
      throw new ImportError(
        `${quoted(path)}: this key is unknown here, and the rule could match more flows without it`,
      );
    }
    if (verdict.kind === 'refused') throw new ImportError(`${quoted(path)}: ${verdict.reason}`);
    if (verdict.kind === 'dropped') notes.push(noteOn(path, verdict.reason));
  }
  return notes;
}

/** Whether a value equals that of an absent key, in every type that Go decodes it into. */
function isAbsent(value: unknown): boolean {
  if (value === null || value === undefined || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
