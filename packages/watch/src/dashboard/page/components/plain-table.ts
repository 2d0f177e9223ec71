import type { ComponentChildren } from 'preact';
import { html } from '../html.ts';

interface PlainRow {
  readonly key: string | number;
  /** The name of the row, and its figures. */
  readonly cells: readonly [ComponentChildren, ...ComponentChildren[]];
}

/** A table of a few names with their figures. */
export const PlainTable = ({
  heads: [first, ...others],
  rows,
  caption,
}: {
  readonly heads: readonly string[];
  readonly rows: readonly PlainRow[];
  /** What a reader that does not see hears first. */
  readonly caption?: string;
}) =>
  html`<table class="plain">
    ${
      caption !== undefined &&
      html`<caption class="visually-hidden">
        ${caption}
      </caption>`
    }
    <thead>
      <tr>
        <th scope="col">${first}</th>
        ${others.map((head) => html`<th scope="col" class="number">${head}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        ({ key, cells: [name, ...figures] }) =>
          html`<tr key=${key}>
            <th scope="row">${name}</th>
            ${figures.map((figure) => html`<td class="number">${figure}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`;
