import { Component, type ComponentChildren } from 'preact';
import { html } from '../html.ts';
import type { Column } from './grid-column.ts';

interface GridRowProps<Row> {
  readonly id: string;
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly index: number;
  /** Pixels from the first row. */
  readonly top: number;
  readonly active: boolean;
  readonly extraClass: string;
  readonly heading: ((row: Row) => ComponentChildren) | undefined;
  readonly onClick: () => void;
}

/** A row of a grid. It renders again only if its row or its position has changed. */
export class GridRow<Row> extends Component<GridRowProps<Row>> {
  override shouldComponentUpdate(next: GridRowProps<Row>): boolean {
    const { props } = this;
    return (
      next.row !== props.row ||
      next.top !== props.top ||
      next.index !== props.index ||
      next.active !== props.active ||
      next.columns !== props.columns ||
      next.extraClass !== props.extraClass
    );
  }

  override render({
    id,
    row,
    columns,
    index,
    top,
    active,
    extraClass,
    heading,
  }: GridRowProps<Row>) {
    const head = heading?.(row);
    return html`<div
      class=${`grid-row ${active ? 'active ' : ''}${head === undefined ? '' : 'heading '}${extraClass}`}
      role="row"
      id=${id}
      aria-rowindex=${index + 2}
      aria-selected=${active ? 'true' : undefined}
      style=${{ transform: `translateY(${top}px)` }}
      onClick=${() => this.props.onClick()}
    >
      ${
        head === undefined
          ? columns.map(
              (column, at) =>
                html`<div
                  role="gridcell"
                  aria-colindex=${at + 1}
                  class=${`cell ${column.end === true ? 'end ' : ''}card-${column.card ?? 'none'}`}
                >
                  ${column.cell(row)}
                </div>`,
            )
          : html`<div role="gridcell" class="cell" aria-colspan=${columns.length}>${head}</div>`
      }
    </div>`;
  }
}
