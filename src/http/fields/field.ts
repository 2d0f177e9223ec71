/** A field line of HTTP/2 or HTTP/3; the name is in lower case, texts are latin1. */
export interface HttpField {
  readonly name: string;
  readonly value: string;
}

/** The value of the first field with that name. */
export const valueOf = (fields: readonly HttpField[], name: string): string | undefined =>
  fields.find((field) => field.name === name)?.value;
