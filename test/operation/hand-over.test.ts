import { HandOver } from '../../plugin/instance/hand-over';

describe('what is done with requests before the addresses go', () => {
  function lab() {
    const steps: string[] = [];
    const handOver = new HandOver({
      admission: {
        setMode: (mode) => void steps.push(mode),
        idle: (limitMs, of) => {
          steps.push(`idle ${of.join(' ')} ${limitMs}`);
          return Promise.resolve(false);
        },
      },
      hurry: () => void steps.push('hurry'),
      refuseUndecided: () => {
        steps.push('refuse');
        return Promise.resolve();
      },
    });
    return { steps, handOver };
  }

  it('proxied requests are hurried on before anything is waited for', async () => {
    const { steps, handOver } = lab();
    await handOver.quiesce(1000);
    expect(steps).toEqual(['handing_over', 'hurry', 'idle ours 1000']);
  });

  it('when nothing comes any more, what is still held after a short wait is refused, in time to be sent', async () => {
    const { steps, handOver } = lab();
    const start = performance.now();
    await handOver.settle(30);
    expect(performance.now() - start).toBeGreaterThan(9);
    expect(steps).toEqual(['handing_over', 'hurry', 'idle ours late 7.5', 'refuse']);
  });
});
