/** The value of a JSON text; `undefined` for any other text. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value of a JSON text that is a string; `undefined` for any other text. */
export function jsonStringIn(text: string): string | undefined {
  const value = jsonIn(text);
  return typeof value === 'string' ? value : undefined;
}
