/** Maximum number of rows of a list that a page receives: a window somewhat larger than what it shows. */
export const MAX_ROWS = 60;
