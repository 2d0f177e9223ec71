/** Replaces `remove` UTF-16 units at `at` by `insert`. */
export interface Splice {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

export const insertion = (at: number, insert: string): Splice => ({ at, remove: 0, insert });

export const deletion = (start: number, end: number): Splice => ({
  at: start,
  remove: end - start,
  insert: '',
});

/** The text with the changes, which are in document order and do not overlap. */
export function splice(text: string, splices: readonly Splice[]): string {
  let result = '';
  let from = 0;
  for (const { at, remove, insert } of splices) {
    result += text.slice(from, at) + insert;
    from = at + remove;
  }
  return result + text.slice(from);
}
