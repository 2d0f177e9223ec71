import { type ComponentChildren, type VNode, Component } from 'preact';
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { MAX_ROWS } from '../../shared/protocol.ts';
import { useCommands } from '../commands.ts';
import { html } from '../html.ts';
import { narrow, roomy } from './media.ts';

export interface Sort {
  readonly key: string;
  readonly descending: boolean;
}

/** A part of a long list: `rows[0]` is the row `first` of `total`. */
export interface GridWindow<Row> {
  readonly first: number;
  readonly total: number;
  readonly rows: readonly Row[];
}

export interface GridProps<Row> {
  /** Name of the grid for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly window: GridWindow<Row>;
  readonly id: (row: Row) => string | number;
  readonly sort?: Sort;
  readonly onSort?: (sort: Sort) => void;
  /** Called when the visible rows leave the window, to request another one. `count` is at most `MAX_ROWS`. */
  readonly onWindow: (first: number, count: number) => void;
  /** Called on Enter or a click. */
  readonly onOpen?: (row: Row) => void;
  /** Called with the row that keys act on, as after j and k. */
  readonly onActive?: (row: Row | undefined) => void;
  /** Called with whether the pointer is over the rows or the grid has the focus: rows should not move then. */
  readonly onHold?: (held: boolean) => void;
  /** Further classes of a row, such as `closed`. */
  readonly rowClass?: (row: Row) => string;
  /** The content of a row that is a heading: one cell over the whole width. */
  readonly heading?: (row: Row) => ComponentChildren;
  /** Shown in place of rows when there are none. */
  readonly empty?: ComponentChildren;
}

/** The heights of rows, in the unit `rem`: the style sheet has the same numbers. */
const ROW_REM = 2.25;
const CARD_REM = 4.25;
/** Rows beyond each edge that are kept rendered, unless a tall screen shows too many. */
const MARGIN = 12;

interface Active {
  readonly index: number;
  /** `undefined` while its row has not arrived, or after it has gone. */
  readonly id: string | number | undefined;
  readonly awaited: boolean;
}

/**
 * A long list of which only the visible rows are rendered. It is one stop of the Tab key; the active row is named by
 * `aria-activedescendant` and identified by its id when rows move. The grid fills the height of its parent, a flex
 * column.
 */
export function Grid<Row>(props: GridProps<Row>): VNode {
  const { label, window, id, sort, onSort, onOpen, onActive, onHold, rowClass, heading } = props;
  const height = remPixels() * (narrow.value ? CARD_REM : ROW_REM);
  const columns = useMemo(
    () => props.columns.filter(({ extra }) => roomy.value || extra !== true),
    [props.columns, roomy.value],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const asked = useRef('');
  const [active, setActive] = useState<Active | undefined>(undefined);
  const hold = useRef({ pointer: false, focus: false });
  const baseId = useId();
  const rowId = (of: string | number) => `${baseId}-${of}`;
  const rowAt = (index: number): Row | undefined => window.rows[index - window.first];

  const askWindow = () => {
    const box = scroller.current;
    if (!box) return;
    const top = Math.floor(box.scrollTop / height);
    const shown = Math.ceil(box.clientHeight / height) + 1;
    const from = Math.max(0, Math.min(top, window.total - shown));
    const to = Math.min(window.total, from + shown);
    if (from >= window.first && to <= window.first + window.rows.length) return;
    const margin = Math.max(0, Math.min(MARGIN, (MAX_ROWS - shown) >> 1));
    const first = Math.max(0, from - margin);
    const count = Math.min(MAX_ROWS, shown + 2 * margin);
    // Once for each state of the window: its owner renders again for each request, long before the rows arrive.
    const key = [first, count, window.first, window.rows.length, window.total].join(' ');
    if (key === asked.current) return;
    asked.current = key;
    props.onWindow(first, count);
  };
  useLayoutEffect(askWindow);
  useEffect(() => {
    const box = scroller.current;
    if (!box) return undefined;
    const observer = new ResizeObserver(() => latest.current());
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  const latest = useRef(askWindow);
  latest.current = askWindow;

  // The active row is found again by its id after rows have moved.
  const current = followed(active, window, id, rowAt);
  // Before the next key: a later effect would undo what the key has moved.
  useLayoutEffect(() => {
    if (current !== active) setActive(current);
  });
  const activeRow = current?.id === undefined ? undefined : rowAt(current.index);
  // In a layout effect, so that a key that follows acts on this row.
  useLayoutEffect(() => onActive?.(activeRow), [activeRow]);

  const move = (to: number) => {
    const index = Math.max(0, Math.min(window.total - 1, to));
    if (window.total === 0) return;
    const row = rowAt(index);
    setActive({ index, id: row === undefined ? undefined : id(row), awaited: row === undefined });
    showRow(scroller.current, index, height);
  };
  const firstVisible = () => Math.ceil((scroller.current?.scrollTop ?? 0) / height);
  const moveBy = (key: string) => {
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / height) - 2);
    move(keyedMove(key, current?.index, { page, total: window.total }) ?? 0);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target !== scroller.current) return;
    if (event.key === 'Enter' && activeRow !== undefined) onOpen?.(activeRow);
    // Without an active row Enter shows the one that the next Enter opens.
    else if (event.key === 'Enter' && onOpen) move(current?.index ?? firstVisible());
    else if (keyedMove(event.key, current?.index, { page: 1, total: window.total }) === undefined)
      return;
    else moveBy(event.key);
    event.preventDefault();
  };
  const focusAnd = (key: string) => () => {
    scroller.current?.focus();
    moveBy(key);
  };
  useCommands([
    { title: 'Next row', group: 'Rows', key: 'j', run: focusAnd('ArrowDown') },
    { title: 'Previous row', group: 'Rows', key: 'k', run: focusAnd('ArrowUp') },
  ]);

  const held = (change: Partial<{ pointer: boolean; focus: boolean }>) => {
    const before = hold.current.pointer || hold.current.focus;
    Object.assign(hold.current, change);
    const after = hold.current.pointer || hold.current.focus;
    if (before !== after) onHold?.(after);
  };

  return html`<div
    class="grid"
    role="grid"
    aria-label=${label}
    aria-rowcount=${Math.max(1, window.total) + 1}
    aria-colcount=${columns.length}
    aria-activedescendant=${activeRow === undefined ? undefined : rowId(id(activeRow))}
    tabindex="0"
    ref=${scroller}
    style=${{ '--columns': columns.map(({ width }) => width).join(' ') }}
    onScroll=${askWindow}
    onKeyDown=${onKey}
    onFocusIn=${() => held({ focus: true })}
    onFocusOut=${() => held({ focus: false })}
  >
    <div class="grid-head" role="rowgroup">
      <div class="grid-row" role="row" aria-rowindex="1">
        ${columns.map((column, index) => headCell(column, index, sort, onSort))}
      </div>
    </div>
    <div
      class="grid-body"
      role="rowgroup"
      style=${{ height: `${window.total * height}px` }}
      onPointerEnter=${(event: PointerEvent) =>
        event.pointerType !== 'touch' && held({ pointer: true })}
      onPointerLeave=${() => held({ pointer: false })}
    >
      ${window.rows.map((row, at) => {
        const key = id(row);
        return html`<${GridRow}
          key=${key}
          id=${rowId(key)}
          row=${row}
          columns=${columns}
          index=${window.first + at}
          top=${(window.first + at) * height}
          active=${key === current?.id}
          extraClass=${rowClass?.(row) ?? ''}
          heading=${heading}
          onClick=${() => {
            setActive({ index: window.first + at, id: key, awaited: false });
            onOpen?.(row);
          }}
        />`;
      })}
    </div>
    ${
      window.total === 0 &&
      html`<div role="row" aria-rowindex="2">
        <div class="grid-empty" role="gridcell" aria-colspan=${columns.length}>${props.empty}</div>
      </div>`
    }
  </div>`;
}

/** Moves the focus from a search to the rows that it has found, the first of which becomes active. */
export function enterRows(grid: HTMLElement | null | undefined): void {
  grid?.focus();
  grid?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', cancelable: true }));
}

function headCell<Row>(
  column: Column<Row>,
  index: number,
  sort: Sort | undefined,
  onSort: ((sort: Sort) => void) | undefined,
) {
  const sorted = sort?.key === column.key;
  const order = sort?.descending === true ? 'descending' : 'ascending';
  const mark = sorted ? (sort.descending ? ' ↓' : ' ↑') : '';
  return html`<div
    role="columnheader"
    class=${column.end === true ? 'cell end' : 'cell'}
    aria-colindex=${index + 1}
    aria-sort=${sorted ? order : undefined}
  >
    ${
      column.sorts !== undefined && onSort
        ? html`<button
            type="button"
            class="sort"
            onClick=${() =>
              onSort({
                key: column.key,
                descending: sorted ? !sort.descending : column.sorts === 'descending',
              })}
          >
            ${column.title}<span aria-hidden="true">${mark}</span>
          </button>`
        : column.title
    }
  </div>`;
}

function followed<Row>(
  active: Active | undefined,
  { first, rows }: GridWindow<Row>,
  id: (row: Row) => string | number,
  rowAt: (index: number) => Row | undefined,
): Active | undefined {
  if (active === undefined) return undefined;
  const there = rowAt(active.index);
  if (active.id === undefined) {
    if (!active.awaited || there === undefined) return active;
    return { index: active.index, id: id(there), awaited: false };
  }
  if (there !== undefined && id(there) === active.id) return active;
  const at = rows.findIndex((row) => id(row) === active.id);
  if (at >= 0) return { ...active, index: first + at };
  // A row scrolled out of the window may still exist; once it is gone from its place, keys must not act on another
  // row.
  return there === undefined ? active : { index: active.index, id: undefined, awaited: false };
}

/** Scrolls so that a row is below the heading and above the lower edge. */
function showRow(box: HTMLElement | null, index: number, height: number): void {
  if (!box) return;
  const head = box.querySelector<HTMLElement>('.grid-head')?.offsetHeight ?? 0;
  const top = index * height;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + height + head > box.scrollTop + box.clientHeight) {
    box.scrollTop = top + height + head - box.clientHeight;
  }
}

const remPixels = (): number =>
  Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;

/** The index that a key moves the active row of a grid to; `undefined` for a key that does not move it. */
function keyedMove(
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
class GridRow<Row> extends Component<GridRowProps<Row>> {
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

/** A column of a grid. */
export interface Column<Row> {
  /** The column's sort key, passed to `onSort`. */
  readonly key: string;
  readonly title: string;
  /** A track of CSS grid: `6rem`, `minmax(8rem, 2fr)`. */
  readonly width: string;
  /** Whether cells are aligned at the end, as numbers are. */
  readonly end?: boolean;
  /** The initial order of a column that can be sorted; its heading is then a button. */
  readonly sorts?: 'ascending' | 'descending';
  /**
   * The position on a card, which has a first line, a second line, and an end of each; cards leave out columns without
   * one.
   */
  readonly card?: 'title' | 'aside' | 'line' | 'line-end';
  /** Whether the column is left out where there is no room for all, as on tablets. */
  readonly extra?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}
