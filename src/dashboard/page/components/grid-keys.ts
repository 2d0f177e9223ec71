/** The index that a key moves the active row of a grid to; `undefined` for a key that does not move it. */
export function keyedMove(
  key: string,
  index: number | undefined,
  { page, total }: { readonly page: number; readonly total: number },
): number | undefined {
  const from = index ?? -1;
  switch (key) {
    case 'ArrowDown':
    case 'j':
      return from + 1;
    case 'ArrowUp':
    case 'k':
      return Math.max(0, from - 1);
    case 'PageDown':
      return from + page;
    case 'PageUp':
      return Math.max(0, from - page);
    case 'Home':
      return 0;
    case 'End':
      return total - 1;
    default:
      return undefined;
  }
}
