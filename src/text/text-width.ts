/** Ideographs, kana, Hangul, full-width forms, emoji and flags, which terminals draw two columns wide. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\p{Regional_Indicator}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]|\ufe0f/u;

/** Created once: creating a segmenter takes longer than measuring a name. */
const SEGMENTER = new Intl.Segmenter();

/** Returns the grapheme clusters of a text. */
export const segmentsOf = (text: string): Iterable<Intl.SegmentData> => SEGMENTER.segment(text);

/** Returns the columns that a text takes on a terminal: two for a wide character, one for any other. */
export function columnsOf(text: string): number {
  // Most tables are ASCII.
  if (/^[ -~]*$/.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of segmentsOf(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}
