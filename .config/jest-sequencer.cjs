// The longest first, or one worker would stand idle at the end: jest goes by size where it has not seen a file run, but
// stories, browsers and commands take long for what they write.
const { sep } = require('node:path')
const { default: Sequencer } = require('@jest/test-sequencer')

const long = ['stories', 'browser', 'commands', 'security'].map((folder) => sep + folder + sep)

class LongestFirst extends Sequencer {
  sort(tests) {
    const isLong = ({ path }) => long.some((folder) => path.includes(folder))
    return [...super.sort(tests)].sort((a, b) => Number(isLong(b)) - Number(isLong(a)))
  }
}

module.exports = { __esModule: true, default: LongestFirst }
