import { remindToConnect } from '../../plugin/instance/connect-reminder';

describe('the reminder to call srf.connect', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('speaks every half minute until it is called, and keeps the process so long', () => {
    let isConnecting = false;
    const say = jest.fn();
    remindToConnect(() => isConnecting, say);
    jest.advanceTimersByTime(60_000);
    expect(say).toHaveBeenCalledTimes(2);
    expect(jest.getTimerCount()).toBe(1);
    isConnecting = true;
    jest.advanceTimersByTime(60_000);
    expect(say).toHaveBeenCalledTimes(2);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('ends', () => {
    remindToConnect(() => false, jest.fn())();
    expect(jest.getTimerCount()).toBe(0);
  });
});
