#include "virtual_device/identity.h"

#include <cstdio>
#include <cstring>

namespace maya::device {

PciAddress pci_address(int ordinal) { return {0, 0x1bu + 0x10u * static_cast<uint32_t>(ordinal), 0}; }

std::string pci_bus_id(int ordinal, int domain_digits) {
  const PciAddress address = pci_address(ordinal);
  char text[32];
  snprintf(text, sizeof text, "%0*X:%02X:%02X.0", domain_digits, address.domain, address.bus & 0xff, address.device);
  return text;
}

void device_uuid(int ordinal, unsigned char uuid[16]) {
  static constexpr unsigned char kBase[16] = {'M',  'a',  'y',  'a',  0x5e, 0x0d, 0x4e, 0x11,
                                              0x8c, 0x3b, 0x70, 0x29, 0x6a, 0xf4, 0xd1, 0x00};
  memcpy(uuid, kBase, sizeof kBase);
  uuid[15] = static_cast<unsigned char>(ordinal);
}

std::string device_uuid_text(int ordinal) {
  unsigned char id[16];
  device_uuid(ordinal, id);
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", id[i]);
    text += digits;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

}  // namespace maya::device
