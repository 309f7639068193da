exports.folder = '.';
exports.file = 'cloth';
