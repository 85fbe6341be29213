import { describeWith } from '../fixtures/needs';
import { networkContract } from './network.case';

describeWith(['netns', 'addon', 'nft'], 'native', () => {
  networkContract({
    name: 'native',
    module: 'plugin/network/native-network.ts',
    hearsForeignArp: true,
  });
});

describeWith(['netns', 'arping', 'perl', 'nft'], 'iproute2', () => {
  networkContract({
    name: 'iproute2',
    module: 'plugin/network/iproute2-network.ts',
    hearsForeignArp: false,
  });
});
