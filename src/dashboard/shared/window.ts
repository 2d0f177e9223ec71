/** Rows that a page gets of a list, at most: a window somewhat larger than what it shows. */
export const MAX_ROWS = 60;
