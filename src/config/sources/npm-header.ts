/**
 * The lines that `npm start` prints to standard output before the program it starts, and which are therefore at the
 * beginning of a file that its output is redirected to. `npm -s start` prints none.
 */
const HEADER = /^\n> weir-proxy@[^\n]*\n> [^\n]*\n\n/;

/** Returns the lines of npm at the start of a text; empty if there are none. */
export const npmHeader = (text: string): string => HEADER.exec(text)?.[0] ?? '';

/** Returns the lines of npm as TOML comments of the same length, so that all places are unchanged. */
export const asComments = (header: string): string => header.replaceAll(/^>/gm, '#');
