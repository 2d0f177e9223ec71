import htm from 'htm';
import { h, type VNode } from 'preact';

/** Markup of the page: `html`<p class="x">${text}</p>``. Interpolated values are set as text, never parsed as HTML. */
export const html = htm.bind(h) as (
  strings: TemplateStringsArray,
  ...values: readonly unknown[]
) => VNode;
