import { Session, type Profiler } from 'node:inspector/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapCodeStatistics, getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
import { messageOf } from '@weir/base';
import { residentBytes } from '@weir/io/process';
import {
  failed,
  MAX_PROFILE_SECONDS,
  MOST_FLOWS_OF_PROFILE,
  toProfileRequest,
  type ControlFailed,
  type ProcessProfile,
} from './messages.ts';

/** Minimum microseconds between two samples of the processor profile. */
const INTERVAL_US = 1_000;
/** Maximum number of samples of a profile: V8 writes them all at its end, some 2 µs each. */
const MOST_SAMPLES = 10_000;

/** Directories at the last of which the shown path of a file begins. */
const SHOWN_FROM: readonly string[] = ['/node_modules/', '/src/', '/dist/'];

/**
 * Handles `profile` on the control socket: profiles the processor by an inspector session within the process, for one
 * client at a time. No port is opened.
 */
export class ProfileRecorder {
  readonly #flows: () => number;
  #isRecording = false;

  /** @param flows returns the number of flows that the process carries */
  constructor(flows: () => number) {
    this.#flows = flows;
  }

  /** Profiles for one client. @param gone drops the recording when it aborts */
  async record(asked: unknown, gone: AbortSignal): Promise<ProcessProfile | ControlFailed> {
    const request = toProfileRequest(asked);
    if (!request) {
      return failed(`expected {"seconds":NUMBER}, ${MAX_PROFILE_SECONDS} at most`);
    }
    const { seconds, busy } = request;
    if (seconds === 0) return answer(null);
    if (!busy && this.#flows() > MOST_FLOWS_OF_PROFILE) {
      return failed(
        `with more than ${MOST_FLOWS_OF_PROFILE} flows the start of a recording stops them for some 0.1 s; --busy records all the same`,
      );
    }
    if (this.#isRecording) return failed('another client records a profile');
    this.#isRecording = true;
    try {
      return answer(await record(seconds * 1000, gone));
    } catch (error) {
      return failed(messageOf(error));
    } finally {
      this.#isRecording = false;
    }
  }
}

function answer(profile: object | null): ProcessProfile {
  const versions = Object.fromEntries(
    Object.entries(process.versions).map(([name, version]) => [name, version ?? '']),
  );
  return { kind: 'profile', profile, heap: heapSummary(), versions };
}

async function record(milliseconds: number, gone: AbortSignal): Promise<object> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    const interval = Math.max(INTERVAL_US, Math.ceil((milliseconds * 1000) / MOST_SAMPLES));
    await session.post('Profiler.setSamplingInterval', { interval });
    await session.post('Profiler.start');
    await sleep(milliseconds, undefined, { signal: gone });
    const { profile } = await session.post('Profiler.stop');
    return { ...profile, nodes: profile.nodes.map(withoutFolders) };
  } finally {
    // This also ends the profile.
    session.disconnect();
  }
}

/** A node without the leading directories of its path, which may identify the user. */
function withoutFolders(node: Profiler.ProfileNode): Profiler.ProfileNode {
  const { url } = node.callFrame;
  if (!url.startsWith('file:')) return node;
  const from = SHOWN_FROM.map((folder) => url.lastIndexOf(folder)).find((at) => at >= 0);
  const short = url.slice((from ?? url.lastIndexOf('/')) + 1);
  return { ...node, callFrame: { ...node.callFrame, url: short } };
}

/** Sizes and counts only: a heap snapshot would contain the secrets of the configuration. */
function heapSummary(): object {
  return {
    memory: memoryUsage(),
    resources: process.resourceUsage(),
    heap: getHeapStatistics(),
    spaces: getHeapSpaceStatistics(),
    code: getHeapCodeStatistics(),
    handles: countsOf(process.getActiveResourcesInfo()),
  };
}

/** Memory usage as by `process.memoryUsage`, which throws where the resident memory cannot be read. */
function memoryUsage(): object {
  const { used_heap_size, total_heap_size, external_memory } = getHeapStatistics();
  return {
    rss: residentBytes(),
    heapTotal: total_heap_size,
    heapUsed: used_heap_size,
    external: external_memory,
  };
}

function countsOf(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
