const path = require('./paths.cjs');

exports.folder = path.folder;
module.exports.shed = function () {};
