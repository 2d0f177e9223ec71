import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { followMedia } from '../components/media.ts';
import { rate, timeOfDay } from '../format.ts';
import { html } from '../html.ts';
import { theme } from '../settings.ts';
import type { Point } from './points.ts';

const HEIGHT = 180;
/** Pixels of the axis that has rates: `999 MB/s`. */
const AXIS = 76;
/** Between two times on the other axis. */
const SECONDS = [1, 5, 10, 15, 30, 60, 300, 600, 900];

const dark = followMedia('(prefers-color-scheme: dark)');

/**
 * Rates over time, drawn. The drawing says nothing to a screen reader: the table beside it has the same numbers.
 * The lines differ by their form too: up is dashed.
 */
export function RatesChart({ points }: { readonly points: readonly Point[] }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const colours = `${theme.value} ${dark.value}`;
  useEffect(() => {
    const parent = box.current;
    if (!parent) return undefined;
    const made = new uPlot(optionsFor(parent), dataOf(points), parent);
    chart.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: parent.clientWidth, height: HEIGHT }),
    );
    observer.observe(parent);
    return () => {
      observer.disconnect();
      made.destroy();
      chart.current = undefined;
    };
  }, [colours]);
  useEffect(() => chart.current?.setData(dataOf(points)), [points]);
  return html`<div class="rates-chart" aria-hidden="true" ref=${box}></div>`;
}

const dataOf = (points: readonly Point[]): uPlot.AlignedData => [
  points.map(({ at }) => at / 1000),
  points.map(({ down }) => down),
  points.map(({ up }) => up),
];

/** The options of a chart in `parent`; packaging/chart.ts leaves out of uPlot what they do not need. */
export function optionsFor(parent: HTMLElement): uPlot.Options {
  const style = getComputedStyle(parent);
  const colour = (name: string): string => {
    // A custom property has light-dark() as it is written; a used colour has one of the two.
    parent.style.color = `var(${name})`;
    const used = style.color;
    parent.style.color = '';
    return used;
  };
  const [text, line, accent] = [colour('--dim'), colour('--line'), colour('--accent')];
  const axis = {
    stroke: text,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1 },
  };
  return {
    width: parent.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_chart, _least, most) => [0, Math.max(1000, most * 1.1)] } },
    axes: [
      {
        ...axis,
        values: (_chart, ticks) => ticks.map((at) => timeOfDay(at * 1000)),
        space: 90,
        incrs: SECONDS,
      },
      {
        ...axis,
        values: (_chart, ticks) => ticks.map((at) => (at === 0 ? '0' : rate(at))),
        size: AXIS,
      },
    ],
    series: [
      {},
      { stroke: accent, width: 2, points: { show: false } },
      { stroke: text, width: 2, dash: [5, 4], points: { show: false } },
    ],
  };
}
