import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { now, rate, timeOfDay } from '../format.ts';
import { followMedia } from '../components/media.ts';
import { html } from '../html.ts';
import { theme } from '../settings.ts';
import type { RatePoints } from '../../now/view.ts';

const HEIGHT = 180;
/** Width of the rate axis in pixels; it fits `999 MB/s`. */
const AXIS = 76;
/** Steps of the time axis, in seconds. */
const SECONDS = [1, 5, 10, 15, 30, 60, 300, 600, 900];

/** Points further apart than this many steps have a gap between them. */
const GAP_STEPS = 2.5;
/** Milliseconds without a point after which measuring has stopped: samples arrive every second. */
const STOPPED_MS = 3000;

const dark = followMedia('(prefers-color-scheme: dark)');

export interface RatesChartProps {
  readonly points: readonly Point[];
  /** Milliseconds that each point represents. */
  readonly step: number;
  /** Milliseconds that the chart shows. */
  readonly span: number;
}

/**
 * A chart of rates over time. Screen readers cannot read it: the table beside it has the same numbers. The lines also
 * differ in style: up is dashed.
 */
export function RatesChart({ points, step, span }: RatesChartProps) {
  const end = endOf(points, now.value);
  const window = useRef({ end, span });
  window.current = { end, span };
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const colours = `${theme.value} ${dark.value}`;
  useEffect(() => {
    const parent = box.current;
    if (!parent) return undefined;
    const made = new uPlot(
      optionsFor(parent, () => window.current),
      dataOf(points, step),
      parent,
    );
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
  useEffect(() => chart.current?.setData(dataOf(points, step)), [points, step, end]);
  return html`<div class="rates-chart" aria-hidden="true" ref=${box}></div>`;
}

/** The end of the chart: the last point, or the present when measuring has stopped. */
const endOf = (points: readonly Point[], present: number): number => {
  const last = points.at(-1)?.at ?? present;
  return present - last > STOPPED_MS ? present : last;
};

/**
 * Data of uPlot: seconds, and bytes per second down and up. Times without points are gaps: each point stands for the
 * `step` before it, also an isolated one.
 */
export function dataOf(points: readonly Point[], step: number): uPlot.AlignedData {
  const [times, down, up]: [number[], (number | null)[], (number | null)[]] = [[], [], []];
  const add = (at: number, point: Pick<Point, 'down' | 'up'> | undefined) => {
    times.push(at / 1000);
    down.push(point?.down ?? null);
    up.push(point?.up ?? null);
  };
  let last: number | undefined;
  for (const point of points) {
    if (last === undefined || point.at - last > GAP_STEPS * step) {
      if (last !== undefined) add(last + 1, undefined);
      add(point.at - step, point);
    }
    add(point.at, point);
    last = point.at;
  }
  return [times, down, up];
}

/** The time range of a chart: its end in Unix milliseconds, and its length. */
export interface ChartWindow {
  readonly end: number;
  readonly span: number;
}

/** The options of a chart in `parent`; packaging/chart.ts removes the parts of uPlot that they do not need. */
export function optionsFor(parent: HTMLElement, window: () => ChartWindow): uPlot.Options {
  const style = getComputedStyle(parent);
  const colour = (name: string): string => {
    // A custom property holds light-dark() unevaluated; the used colour is one of the two.
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
    scales: {
      x: {
        range: () => {
          const { end, span } = window();
          return [(end - span) / 1000, end / 1000];
        },
      },
      y: { range: (_chart, _least, most) => [0, Math.max(1000, most * 1.1)] },
    },
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

/** Rates at one time, in bytes per second. */
export interface Point {
  readonly at: number;
  readonly up: number;
  readonly down: number;
  readonly flows: number;
}

/** Points of a chart from those of the topic, oldest first. */
export const pointsOf = (points: RatePoints): readonly Point[] =>
  Object.entries(points)
    .map(([at, [up, down, flows]]) => ({ at: Number(at), up, down, flows }))
    .sort((a, b) => a.at - b.at);
