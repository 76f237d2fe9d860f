# Writes a C++ file that defines maya::device::builtin_profiles() with the text of every FOLDER/*.profile, ordered by name.
# Called as a script: cmake -DOUTPUT=... -DFOLDER=... -P embed_profiles.cmake
file(GLOB profiles ${FOLDER}/*.profile)
set(rows "")
foreach(profile ${profiles})
  get_filename_component(name ${profile} NAME_WLE)
  file(READ ${profile} text)
  string(APPEND rows "      {\"${name}\", R\"profile(${text})profile\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from virtual_device/profiles by embed_profiles.cmake.
#include \"virtual_device/profile.h\"

namespace maya::device {

const std::vector<BuiltinProfile>& builtin_profiles() {
  static const std::vector<BuiltinProfile>& profiles = *new std::vector<BuiltinProfile>{
${rows}  };
  return profiles;
}

}  // namespace maya::device
")
