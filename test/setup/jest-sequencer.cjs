// Runs the test files of slow folders first, so that no worker is idle at the end. Jest sorts files without a recorded
// duration by size, but the test files of these folders take long for their size.
const { sep } = require('node:path')
const { default: Sequencer } = require('@jest/test-sequencer')

const slowFolders = ['stories', 'browser', 'commands', 'security'].map((folder) => sep + folder + sep)

class LongestFirst extends Sequencer {
  sort(tests) {
    const isSlow = ({ path }) => slowFolders.some((folder) => path.includes(folder))
    return [...super.sort(tests)].sort((a, b) => Number(isSlow(b)) - Number(isSlow(a)))
  }
}

module.exports = { __esModule: true, default: LongestFirst }
