import { CONNECT, DATAGRAMS, IDLE, latency, stream, type Case } from '../case.ts';
import type { ContestantName } from '../contestants.ts';

/** `direct` is the path between the same namespaces without any device. */
const CONTESTANTS: readonly ContestantName[] = [
  'direct',
  'weir',
  'xray',
  'sing-box',
  'sing-box-system',
];

/** A case of the relays, through a device. */
const onDevice = (test: Case): Case => ({
  ...test,
  name: `tun-${test.name}`,
  title: `TUN: ${test.title}`,
  contestants: CONTESTANTS.filter((name) => test.load !== 'idle' || name !== 'direct'),
  setting: 'tun',
});

const pour = (name: string, title: string, load: 'download' | 'upload', parallel: number): Case => {
  const test = stream(name, title, load, parallel);
  const delay = test.goals.filter(({ figure }) => figure === 'loopP99');
  return onDevice({
    ...test,
    goals: [
      { against: 'the best peer', atLeast: 1 },
      { against: 'direct', atLeast: 0.5 },
      { figure: 'cpuPerUnit', against: 'the best peer', atMost: 1 },
      ...delay,
    ],
  });
};

/** The cases of a TUN device in front of freedom. */
export const TUN_CASES: readonly Case[] = [
  pour('stream-down', 'one stream down', 'download', 1),
  pour('stream-up', 'one stream up', 'upload', 1),
  pour('streams-down', '16 streams down', 'download', 16),
  pour('streams-up', '16 streams up', 'upload', 16),
  onDevice({ ...CONNECT, goals: [{ against: 'the best peer', atLeast: 1 }] }),
  onDevice(latency('latency', 'small request, one at a time, p50', 1)),
  onDevice(latency('latency-busy', 'small request, 64 at once, p50', 64)),
  onDevice(DATAGRAMS),
  onDevice(IDLE),
];
