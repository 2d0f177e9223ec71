/** Ideographs, kana, Hangul, full-width forms, emoji and flags, which terminals draw two columns wide. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\p{Regional_Indicator}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]|\ufe0f/u;

/** To make one takes longer than to measure a name. */
const SEGMENTER = new Intl.Segmenter();

/** The characters of a text as they are drawn, with the marks that belong to them. */
export const segmentsOf = (text: string): Iterable<Intl.SegmentData> => SEGMENTER.segment(text);

/** The columns that a text takes on a terminal: two for what is drawn wide, one for each other character. */
export function columnsOf(text: string): number {
  // Most tables are ASCII.
  if (/^[ -~]*$/.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of segmentsOf(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}
