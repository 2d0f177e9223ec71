/** The longest word and the most choices that are compared, to bound the work. */
const LONGEST = 64;
const MOST_CHOICES = 1000;

/**
 * Returns the choice that a mistyped `word` most likely means: within an edit distance of a third of its
 * length, or beginning with it; `undefined` if there is none.
 */
export function suggestion(word: string, choices: Iterable<string>): string | undefined {
  if (word === '' || word.length > LONGEST) return undefined;
  const typed = word.toLowerCase();
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  let begun: string | undefined;
  let left = MOST_CHOICES;
  for (const choice of choices) {
    if (left-- === 0) break;
    if (choice.length > LONGEST) continue;
    const edits = distance(typed, choice.toLowerCase());
    if (edits < least) [best, least] = [choice, edits];
    if (typed.length >= 2 && choice.toLowerCase().startsWith(typed)) begun ??= choice;
  }
  return best ?? begun;
}

/** The shortest text that is searched for within a name. */
const SHORTEST_PART = 3;

/**
 * Returns the name that a mistyped `name` most likely means, among names chosen by users, which may contain more than
 * they are called by: `🎥 Netflix`.
 */
export function meantName(name: string, names: Iterable<string>): string | undefined {
  const all = [...names].slice(0, MOST_CHOICES);
  const similar = suggestion(name, all);
  if (similar !== undefined || name.length < SHORTEST_PART) return similar;
  const typed = name.toLowerCase();
  return all.find((each) => each.length <= LONGEST && each.toLowerCase().includes(typed));
}

/** Returns `did you mean "NAME"?`, or `undefined` if no name is similar. */
export function meantHint(name: string, names: Iterable<string>): string | undefined {
  const meant = meantName(name, names);
  return meant === undefined ? undefined : `did you mean ${JSON.stringify(meant)}?`;
}

/** Returns the number of insertions, deletions, replacements and transpositions that turn `a` into `b`. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const differs = a[i - 1] === b[j - 1] ? 0 : 1;
      let edits = Math.min(
        (above[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (above[j - 1] ?? 0) + differs,
      );
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) edits = Math.min(edits, (before[j - 2] ?? 0) + 1);
      row.push(edits);
    }
    [before, above] = [above, row];
  }
  return above[b.length] ?? 0;
}
